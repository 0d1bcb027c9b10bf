//! Many datagrams in one piece: `UDP_SEGMENT` and `UDP_GRO` (udp(7)).

use std::io;
use std::mem::size_of;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

use super::{SendBatch, empty_header};
use crate::option;

/// Lets datagrams that came in one piece be received in one piece.
///
/// # Errors
/// What setsockopt(2) reports, e.g. `ENOPROTOOPT` before Linux 5.0.
pub fn coalesce_arrivals(socket: &UdpSocket) -> io::Result<()> {
    let on: libc::c_int = 1;
    option::set(socket, libc::SOL_UDP, libc::UDP_GRO, &on)
}

/// Whether datagrams that came in one piece are received so.
pub fn coalesces_arrivals(socket: &UdpSocket) -> bool {
    option::number(socket, libc::SOL_UDP, libc::UDP_GRO).is_ok_and(|on| on != 0)
}

/// Whether the kernel can cut datagrams of `length` bytes out of one piece on the path
/// of a connected socket.
///
/// # Errors
/// What getsockopt(2) reports, e.g. `ENOPROTOOPT` before Linux 4.18; `InvalidInput` if
/// such datagrams are longer than the path takes: they cannot be fragments too.
pub fn check_segmentation(socket: &UdpSocket, length: usize) -> io::Result<()> {
    option::number(socket, libc::SOL_UDP, libc::UDP_SEGMENT)?;
    if length <= longest_unfragmented(socket)? {
        Ok(())
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "datagrams longer than the path's MTU"))
    }
}

/// Payload of a datagram that fits the path MTU of a connected socket.
fn longest_unfragmented(socket: &UdpSocket) -> io::Result<usize> {
    // Headers of IP and UDP (RFC 791, RFC 8200, RFC 768).
    let (mtu, headers) = if socket.peer_addr()?.ip().to_canonical().is_ipv4() {
        (option::number(socket, libc::IPPROTO_IP, libc::IP_MTU)?, 28)
    } else {
        (option::number(socket, libc::IPPROTO_IPV6, libc::IPV6_MTU)?, 48)
    };
    Ok(usize::try_from(mtu).unwrap_or(0).saturating_sub(headers))
}

impl SendBatch {
    /// Sends the first `count` datagrams over a connected socket in one piece, which the
    /// kernel or the network card cuts; how many went: all of them.
    ///
    /// # Errors
    /// What sendmsg(2) reports, e.g. `EAGAIN`, or `EINVAL` if they are more than
    /// [`MOST_SEGMENTS`] or longer than the path takes.
    ///
    /// # Panics
    /// If `count` is above the capacity.
    pub fn send_segmented(&mut self, socket: &UdpSocket, count: usize) -> io::Result<usize> {
        let segment = u16::try_from(self.length()).unwrap_or(u16::MAX);
        let bytes = self.bytes(count);
        let mut vector = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        let mut space = ControlSpace::default();
        let mut header = empty_header();
        header.msg_iov = &raw mut vector;
        header.msg_iovlen = 1;
        if count > 1 {
            header.msg_control = space.0.as_mut_ptr().cast();
            header.msg_controllen = SEGMENT_SPACE as _;
            // SAFETY: the control space is aligned and holds one message of a u16.
            unsafe { write_segment(&header, segment) };
        }
        // SAFETY: the header points to the payload, which lives in `self`, and to the
        // vector and the control space on this stack frame.
        let sent = unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const header, 0) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(count) }
    }
}

/// # Safety
/// `header` has control space for one message with a u16.
unsafe fn write_segment(header: &libc::msghdr, segment: u16) {
    // SAFETY: by the caller's promise the first message and its data are within the
    // control space; the write does not ask for alignment.
    unsafe {
        let message = libc::CMSG_FIRSTHDR(header);
        (*message).cmsg_level = libc::SOL_UDP;
        (*message).cmsg_type = libc::UDP_SEGMENT;
        (*message).cmsg_len = libc::CMSG_LEN(SEGMENT_LENGTH) as _;
        libc::CMSG_DATA(message).cast::<u16>().write_unaligned(segment);
    }
}

/// Room for one control message, aligned as cmsg(3) asks.
#[repr(C, align(8))]
#[derive(Default)]
struct ControlSpace([u8; 32]);

#[expect(clippy::cast_possible_truncation, reason = "two bytes")]
const SEGMENT_LENGTH: u32 = size_of::<u16>() as u32;
// SAFETY: a computation without any access to memory.
const SEGMENT_SPACE: u32 = unsafe { libc::CMSG_SPACE(SEGMENT_LENGTH) };
const _: () = assert!(SEGMENT_SPACE as usize <= size_of::<ControlSpace>());

/// Datagrams that every kernel with segmentation takes in one piece (`UDP_MAX_SEGMENTS`
/// in `linux/udp.h`; 128 since Linux 6.9).
pub const MOST_SEGMENTS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::udp::{ReceiveBatch, bind, stamp_arrivals};

    fn pair(local: &str) -> (UdpSocket, UdpSocket) {
        let local = local.parse().expect("an address");
        let [from, to] = [(); 2].map(|()| bind(local, false, false).expect("bound"));
        from.connect(to.local_addr().expect("bound")).expect("connected");
        (from, to)
    }

    fn numbered(count: u8, length: usize) -> SendBatch {
        let mut batch = SendBatch::new(count.into(), length, b"x");
        for index in 0..count {
            batch.payload_mut(index.into())[0] = index;
        }
        batch
    }

    #[test]
    fn one_piece_arrives_as_datagrams_where_they_are_not_coalesced() {
        let (from, to) = pair("127.0.0.1:0");
        check_segmentation(&from, 100).expect("the kernel segments");
        assert_eq!(numbered(10, 100).send_segmented(&from, 7).expect("sent"), 7);
        let mut batch = ReceiveBatch::new(16, 200);
        assert_eq!(batch.receive(&to).expect("received"), 7);
        for index in 0..7 {
            let received = batch.get(index);
            assert_eq!((received.payload.len(), usize::from(received.payload[0])), (100, index));
        }
    }

    #[test]
    fn one_piece_arrives_in_one_piece_and_is_taken_apart() {
        for local in ["127.0.0.1:0", "[::1]:0"] {
            let (from, to) = pair(local);
            coalesce_arrivals(&to).expect("the kernel coalesces");
            stamp_arrivals(&to).expect("stamps");
            assert!(coalesces_arrivals(&to) && !coalesces_arrivals(&from));
            numbered(10, 100).send_segmented(&from, 10).expect("sent");
            from.send(&[9; 30]).expect("sent");
            let mut batch = ReceiveBatch::new(16, 65_536);
            assert_eq!(batch.receive(&to).expect("received"), 2);
            let first: Vec<_> = batch.get(0).datagrams().map(|d| (d[0], d.len())).collect();
            assert_eq!(first, (0..10).map(|number| (number, 100)).collect::<Vec<_>>());
            assert!(batch.get(0).arrival.is_some());
            assert_eq!(batch.get(1).datagrams().collect::<Vec<_>>(), [[9; 30]]);
        }
    }

    #[test]
    fn datagrams_longer_than_the_path_takes_cannot_be_segments() {
        let (from, _to) = pair("127.0.0.1:0");
        let error = check_segmentation(&from, 65_530).expect_err("longer than the MTU");
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        // One alone is no segment.
        assert_eq!(numbered(1, 65_507).send_segmented(&from, 1).expect("sent"), 1);
    }
}
