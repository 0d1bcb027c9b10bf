//! How many packets a rate is, and how many pages a receiver fills with them.

use measurement::units::group_thousands;
use measurement::{BitRate, ByteSize, PerSecond};

use super::{Headers, Impossible, Mtu};

/// Full packets of an MTU at a rate, and the pages that a receiver's driver takes for them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packets {
    /// MTU of the link.
    pub mtu: Mtu,
    /// Bytes of a frame, as the layer of the rate counts them.
    pub frame: ByteSize,
    /// Packets in a second.
    pub packets: PerSecond,
    /// Pages in a second.
    pub pages: PerSecond,
}

/// Layer whose bytes a rate counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layer {
    /// All that a link carries: frames, preambles and the gaps between them, as the speed of a link
    /// does (layer 1; IEEE 802.3).
    #[default]
    Line,
    /// Frames, from the destination address to the check sequence (layer 2; RFC 2544).
    Frames,
    /// IP packets (layer 3).
    Packets,
}

impl Packets {
    /// Full packets of `mtu` at `rate`, where each takes whole pages of `page` bytes with its
    /// Ethernet header, or where `per_page` packets share a page.
    ///
    /// # Errors
    /// A page has no room for so many packets, or a number is zero.
    pub fn new(
        (rate, layer): (BitRate, Layer),
        mtu: Mtu,
        headers: Headers,
        (page, per_page): (ByteSize, u32),
    ) -> Result<Self, Impossible> {
        let buffer = u64::from(headers.buffer(mtu));
        if page.bytes() == 0 || per_page == 0 {
            return Err(Impossible("a page has at least 1 byte and 1 packet".to_owned()));
        }
        if per_page > 1 && buffer.saturating_mul(per_page.into()) > page.bytes() {
            let (buffer, page) = (group_thousands(buffer), group_thousands(page.bytes()));
            return Err(Impossible(format!(
                "{per_page} frames of {buffer} bytes do not fit a page of {page}: choose fewer"
            )));
        }
        let frame = u64::from(layer.bytes(mtu, headers));
        let packets = rate.bits_per_second() as f64 / 8.0 / frame as f64;
        let pages = packets * buffer.div_ceil(page.bytes()) as f64 / f64::from(per_page);
        Ok(Self {
            mtu,
            frame: ByteSize::from_bytes(frame),
            packets: PerSecond::new(packets),
            pages: PerSecond::new(pages),
        })
    }

    /// Seconds from one packet to the next, of which a `Duration` would cut off parts of a
    /// nanosecond: what a CPU has for each, if it handles all of them. None: the rate is zero.
    pub fn interval_seconds(&self) -> Option<f64> {
        let packets = self.packets.get();
        (packets > 0.0).then(|| 1.0 / packets)
    }
}

impl Layer {
    /// Bytes that a full packet takes in this layer.
    pub(super) fn bytes(self, mtu: Mtu, headers: Headers) -> u32 {
        match self {
            Self::Line => headers.frame(mtu).max(SHORTEST) + PREAMBLE + GAP,
            Self::Frames => headers.frame(mtu).max(SHORTEST),
            Self::Packets => mtu.bytes(),
        }
    }
}

/// Bytes of the shortest frame (IEEE 802.3, clause 4).
const SHORTEST: u32 = 64;
/// Bytes before a frame, with the delimiter.
const PREAMBLE: u32 = 8;
/// Bytes between two frames at least.
const GAP: u32 = 12;

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: ByteSize = ByteSize::from_bytes(4_096);

    fn at_400g(layer: Layer, mtu: u32, per_page: u32) -> Result<Packets, Impossible> {
        let rate = BitRate::from_bits_per_second(400_000_000_000);
        let mtu = Mtu::new(mtu).expect("an MTU");
        Packets::new((rate, layer), mtu, Headers::default(), (PAGE, per_page))
    }

    /// 400G at an L2 MTU of 4,096, which counts the Ethernet header, is more than 12 M pages/s
    /// (review of 800 Gbit/s with TCP, Netdev).
    #[test]
    fn frames_of_a_page_at_400g_are_12_million_pages_a_second() {
        for layer in [Layer::Line, Layer::Frames, Layer::Packets] {
            let one = at_400g(layer, 4_096 - 14, 1).expect("possible");
            assert!((12.1e6..12.3e6).contains(&one.pages.get()), "{layer:?}: {one:?}");
            assert_eq!(one.pages, one.packets);
        }
        let longer = at_400g(Layer::Line, 4_096, 1).expect("possible");
        assert!((longer.pages.get() / longer.packets.get() - 2.0).abs() < 1e-9, "{longer:?}");
    }

    /// 1,500 with split pages is 16.5 M pages/s (the same review).
    #[test]
    fn split_pages_at_1500_are_16_million_pages_a_second() {
        let frames = at_400g(Layer::Frames, 1_500, 2).expect("possible");
        assert_eq!(format!("{:.1}", frames.pages.get() / 1e6), "16.5");
        let line = at_400g(Layer::Line, 1_500, 2).expect("possible");
        assert_eq!(format!("{:.2}", line.pages.get() / 1e6), "16.25");
        let seconds = line.interval_seconds().expect("a rate");
        assert!((seconds * 1e9 - 30.76).abs() < 1e-9, "{seconds}");
    }

    #[test]
    fn parts_of_a_nanosecond_count() {
        let nanos = |layer, mtu| {
            let one = at_400g(layer, mtu, 1).expect("possible");
            one.interval_seconds().map(|seconds| format!("{:.2}", seconds * 1e9))
        };
        // 4,096 + 24 bytes of a line, and 68 of a shortest IPv4 packet.
        assert_eq!(nanos(Layer::Line, 4_096 - 14).as_deref(), Some("82.40"));
        assert_eq!(nanos(Layer::Packets, 68).as_deref(), Some("1.36"));
    }

    #[test]
    fn the_shortest_frames_of_10g_are_14_88_million_a_second() {
        let rate = BitRate::from_bits_per_second(10_000_000_000);
        let (mtu, headers) = (Mtu::new(68).expect("an MTU"), Headers::default());
        let one = Packets::new((rate, Layer::Line), mtu, headers, (PAGE, 1)).expect("possible");
        // 68 bytes of IP are 86 of frame, above the 64 of 14.88 M/s.
        assert_eq!(one.frame.bytes(), 106);
        assert!((one.packets.get() - 10e9 / 8.0 / 106.0).abs() < 1.0);
    }

    #[test]
    fn a_page_has_room_for_so_many() {
        let text = at_400g(Layer::Line, 3_000, 2).expect_err("too long").to_string();
        assert_eq!(text, "2 frames of 3,014 bytes do not fit a page of 4,096: choose fewer");
        assert!(at_400g(Layer::Line, 1_500, 0).is_err());
    }
}
