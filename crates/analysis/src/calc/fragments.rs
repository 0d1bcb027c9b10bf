//! Into how many page fragments the data of a socket buffer (skb) falls.

use measurement::ByteSize;

use super::Impossible;

/// Page fragments of one skb (skb_frag_t, include/linux/skbuff.h): neighbouring bytes of one page
/// are one fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragments {
    /// Size of a page, huge page, or of what the kernel allocates at a time.
    pub page: ByteSize,
    /// Fragments if the data begins at a page.
    pub aligned: u64,
    /// Fragments at most, wherever in a page the data begins.
    pub any_offset: u64,
    /// Fragments at most if the data is the end of one write, wherever in a page, and the beginning
    /// of the next, from the start of a page: a buffer that is written again and again.
    pub two_writes: u64,
    /// Data that one skb holds at most: full pages in all of its fragments.
    pub most: ByteSize,
}

impl Fragments {
    /// Fragments of an skb with `data` bytes in pages of `page` bytes, of at most `max_frags`
    /// fragments ([`MAX_SKB_FRAGS`]).
    ///
    /// # Errors
    /// One of the numbers is zero.
    pub fn new(data: ByteSize, page: ByteSize, max_frags: u32) -> Result<Self, Impossible> {
        let (bytes, size) = (data.bytes(), page.bytes());
        if bytes == 0 || size == 0 || max_frags == 0 {
            return Err(Impossible("data, page and fragments are at least 1".to_owned()));
        }
        // Further bytes than one each begin a page.
        let touched = |bytes: u64| 1 + (bytes - 1).div_ceil(size);
        let two_writes = if bytes > 1 { touched(bytes - 1) + 1 } else { 1 };
        Ok(Self {
            page,
            aligned: bytes.div_ceil(size),
            any_offset: touched(bytes),
            two_writes: two_writes.max(touched(bytes)),
            most: ByteSize::from_bytes(size.saturating_mul(max_frags.into())),
        })
    }
}

/// Fragments of an skb at most, unless a kernel is built with more (CONFIG_MAX_SKB_FRAGS).
pub const MAX_SKB_FRAGS: u32 = 17;

#[cfg(test)]
mod tests {
    use super::*;

    fn of(data: u64, page: u64) -> Fragments {
        let [data, page] = [data, page].map(ByteSize::from_bytes);
        Fragments::new(data, page, MAX_SKB_FRAGS).expect("no zero")
    }

    /// An skb of 64 KiB has 17 fragments at pages of 4 KiB, and 2 or 3 at 2 MiB (review of 800
    /// Gbit/s with TCP, Netdev).
    #[test]
    fn a_super_packet_has_17_fragments_of_4_kib_and_2_or_3_of_2_mib() {
        let small = of(65_536, 4_096);
        assert_eq!((small.aligned, small.any_offset, small.most.bytes()), (16, 17, 69_632));
        let huge = of(65_536, 2 << 20);
        assert_eq!((huge.aligned, huge.any_offset, huge.two_writes), (1, 2, 3));
        // What the kernel allocates for a socket without MSG_ZEROCOPY (SKB_FRAG_PAGE_ORDER).
        let of_socket = of(65_536, 32 << 10);
        assert_eq!((of_socket.aligned, of_socket.any_offset), (2, 3));
    }

    /// The formula against counting, at every offset.
    #[test]
    fn the_most_is_the_most_of_all_offsets() {
        let touched =
            |from: u64, bytes: u64, page: u64| (from + bytes - 1) / page - from / page + 1;
        for page in 1..9 {
            for bytes in 1..40 {
                let one = of(bytes, page);
                let all = (0..page).map(|from| touched(from, bytes, page));
                assert_eq!(one.any_offset, all.max().expect("some"), "{bytes} of {page}");
                assert_eq!(one.aligned, touched(0, bytes, page));
                let split = (1..bytes).flat_map(|first| {
                    let second = touched(0, bytes - first, page);
                    (0..page).map(move |from| touched(from, first, page) + second)
                });
                let most = split.max().unwrap_or(1).max(one.any_offset);
                assert_eq!(one.two_writes, most, "{bytes} of {page}");
            }
        }
    }

    #[test]
    fn nothing_has_no_fragments() {
        let none = ByteSize::from_bytes(0);
        assert!(Fragments::new(none, ByteSize::from_bytes(4_096), MAX_SKB_FRAGS).is_err());
    }
}
