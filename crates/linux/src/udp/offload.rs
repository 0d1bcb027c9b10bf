//! UDP segmentation and receive offload: `UDP_SEGMENT` (GSO) and `UDP_GRO` (udp(7)).

use std::io;
use std::mem::size_of;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

use super::empty_header;
use crate::option;

/// Lets the kernel coalesce the datagrams that a socket receives (`UDP_GRO`, udp(7)).
///
/// # Errors
/// `ENOPROTOOPT` before Linux 5.0.
pub fn enable_gro(socket: &UdpSocket) -> io::Result<()> {
    let on: libc::c_int = 1;
    option::set(socket, libc::SOL_UDP, libc::UDP_GRO, &on)
}

/// Whether the kernel coalesces the datagrams that a socket receives (`UDP_GRO`, udp(7)).
pub fn has_gro(socket: &UdpSocket) -> bool {
    option::number(socket, libc::SOL_UDP, libc::UDP_GRO).is_ok_and(|on| on != 0)
}

/// Checks whether the kernel can segment datagrams of `length` bytes on the path of a
/// connected socket (`UDP_SEGMENT`).
///
/// # Errors
/// `ENOPROTOOPT` before Linux 4.18; `InvalidInput` if such datagrams are longer than the
/// path MTU: GSO does not fragment.
pub fn check_gso(socket: &UdpSocket, length: usize) -> io::Result<()> {
    option::number(socket, libc::SOL_UDP, libc::UDP_SEGMENT)?;
    if length <= longest_unfragmented(socket)? {
        Ok(())
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "datagrams longer than the path's MTU"))
    }
}

/// The largest payload that fits the path MTU of a connected socket, in bytes (`IP_MTU`).
fn longest_unfragmented(socket: &UdpSocket) -> io::Result<usize> {
    // Headers of IP and UDP (RFC 791, RFC 8200, RFC 768).
    let (mtu, headers) = if socket.peer_addr()?.ip().to_canonical().is_ipv4() {
        (option::number(socket, libc::IPPROTO_IP, libc::IP_MTU)?, 28)
    } else {
        (option::number(socket, libc::IPPROTO_IPV6, libc::IPV6_MTU)?, 48)
    };
    Ok(usize::try_from(mtu).unwrap_or(0).saturating_sub(headers))
}

/// Headers for several GSO packets per call. They are filled at each call.
pub(super) struct Pieces {
    vectors: Box<[libc::iovec]>,
    headers: Box<[libc::mmsghdr]>,
    control: Box<[ControlSpace]>,
    /// Datagrams per GSO packet that the kernel takes.
    most: usize,
}

// SAFETY: its pointers are written at each call before they are used.
unsafe impl Send for Pieces {}

impl Pieces {
    /// For `bytes` of datagrams of `length` bytes each, at least one.
    pub(super) fn new(bytes: usize, length: usize) -> Self {
        // As many as there are if the kernel takes but `MAX_GSO_SEGMENTS` in each.
        let least = (MAX_GSO_PAYLOAD / length).clamp(1, MAX_GSO_SEGMENTS) * length;
        let count = bytes.div_ceil(least);
        let none = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        Self {
            vectors: vec![none; count].into_boxed_slice(),
            headers: vec![libc::mmsghdr { msg_hdr: empty_header(), msg_len: 0 }; count]
                .into_boxed_slice(),
            control: vec![ControlSpace::default(); count].into_boxed_slice(),
            most: MAX_GSO_SEGMENTS_SINCE_6_9,
        }
    }

    /// Sends `bytes`, datagrams of `length` each, in as few GSO packets as the kernel takes;
    /// returns how many datagrams were sent.
    pub(super) fn send(
        &mut self,
        socket: &UdpSocket,
        bytes: &mut [u8],
        length: usize,
    ) -> io::Result<usize> {
        match self.send_once(socket, bytes, length) {
            // It is a kernel that cuts fewer out of one piece.
            Err(error)
                if error.raw_os_error() == Some(libc::EINVAL) && self.most > MAX_GSO_SEGMENTS =>
            {
                self.most = MAX_GSO_SEGMENTS;
                self.send_once(socket, bytes, length)
            }
            result => result,
        }
    }

    fn send_once(
        &mut self,
        socket: &UdpSocket,
        bytes: &mut [u8],
        length: usize,
    ) -> io::Result<usize> {
        let together = (MAX_GSO_PAYLOAD / length).clamp(1, self.most);
        let chunks = bytes.chunks_mut(together * length);
        let rooms = self.headers.iter_mut().zip(&mut self.vectors).zip(&mut self.control);
        let mut count = 0;
        for (piece, ((header, vector), space)) in chunks.zip(rooms) {
            *vector = libc::iovec { iov_base: piece.as_mut_ptr().cast(), iov_len: piece.len() };
            let header = &mut header.msg_hdr;
            header.msg_iov = vector;
            header.msg_iovlen = 1;
            (header.msg_control, header.msg_controllen) = (std::ptr::null_mut(), 0);
            if piece.len() > length {
                header.msg_control = space.0.as_mut_ptr().cast();
                header.msg_controllen = SEGMENT_SPACE as _;
                // SAFETY: the control space is aligned and holds one message of a u16.
                unsafe { write_segment(header, u16::try_from(length).unwrap_or(u16::MAX)) };
            }
            count += 1;
        }
        // SAFETY: pointer and count describe headers that were filled above, for bytes that
        // outlive the call, and for vectors and control spaces of `self`.
        let sent =
            unsafe { libc::sendmmsg(socket.as_raw_fd(), self.headers.as_mut_ptr(), count, 0) };
        let sent = usize::try_from(sent).map_err(|_| io::Error::last_os_error())?;
        Ok((sent * together).min(bytes.len() / length))
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

/// Room for one control message, aligned as cmsg(3) requires.
#[repr(C, align(8))]
#[derive(Clone, Copy, Default)]
struct ControlSpace([u8; 32]);

#[expect(clippy::cast_possible_truncation, reason = "two bytes")]
const SEGMENT_LENGTH: u32 = size_of::<u16>() as u32;
// SAFETY: a computation without any access to memory.
const SEGMENT_SPACE: u32 = unsafe { libc::CMSG_SPACE(SEGMENT_LENGTH) };
const _: () = assert!(SEGMENT_SPACE as usize <= size_of::<ControlSpace>());

/// Datagrams per GSO packet that every kernel with `UDP_SEGMENT` takes (`UDP_MAX_SEGMENTS`
/// in `linux/udp.h` until Linux 6.8).
pub const MAX_GSO_SEGMENTS: usize = 64;
/// Datagrams per GSO packet since Linux 6.9 (`UDP_MAX_SEGMENTS` in `linux/udp.h`).
pub const MAX_GSO_SEGMENTS_SINCE_6_9: usize = 128;
/// Payload of the longest UDP datagram over IPv4, in bytes: 65,535 less the headers (RFC
/// 791, RFC 768). It bounds a GSO packet too.
pub const MAX_GSO_PAYLOAD: usize = 65_507;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::udp::{ReceiveBatch, SendBatch, bind, enable_timestamps};

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
        check_gso(&from, 100).expect("the kernel segments");
        assert_eq!(numbered(10, 100).send_gso(&from, 7).expect("sent"), 7);
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
            enable_gro(&to).expect("the kernel coalesces");
            enable_timestamps(&to).expect("stamps");
            assert!(has_gro(&to) && !has_gro(&from));
            numbered(10, 100).send_gso(&from, 10).expect("sent");
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
    fn several_pieces_go_with_one_call_and_the_last_one_may_be_short() {
        let (from, to) = pair("127.0.0.1:0");
        enable_gro(&to).expect("the kernel coalesces");
        let mut batch = numbered(250, 10);
        assert_eq!(batch.send_gso(&from, 250).expect("sent"), 250);
        // As on a kernel before 6.9.
        batch.pieces.most = MAX_GSO_SEGMENTS;
        assert_eq!(batch.send_gso(&from, 130).expect("sent"), 130);
        let mut arrived = Vec::new();
        let mut room = ReceiveBatch::new(16, 65_536);
        while arrived.len() < 380 {
            for index in 0..room.receive(&to).expect("received") {
                arrived.extend(room.get(index).datagrams().map(|datagram| datagram[0]));
            }
        }
        assert!(arrived.into_iter().eq((0..250).chain(0..130)));
    }

    #[test]
    fn datagrams_longer_than_the_path_takes_cannot_be_segments() {
        let (from, _to) = pair("127.0.0.1:0");
        let error = check_gso(&from, 65_530).expect_err("longer than the MTU");
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        // One alone is no segment.
        assert_eq!(numbered(1, 65_507).send_gso(&from, 1).expect("sent"), 1);
    }
}
