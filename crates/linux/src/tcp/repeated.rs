//! Calls that move many times as much as their buffer holds: a small buffer stays in the cache, and
//! a large call saves others.

use std::io;
use std::mem;
use std::net::TcpStream;
use std::os::fd::AsRawFd;

/// What becomes of received bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// The kernel copies them (recvmsg(2)).
    Copied,
    /// The kernel drops them without a copy (`MSG_TRUNC`, tcp(7)).
    Dropped,
}

/// Sends `count` bytes, or fewer, that consist of `payload` over and over, in one call (sendmsg(2)
/// with the same buffer several times). Returns how many bytes the kernel took.
///
/// # Errors
/// `EAGAIN`: the socket takes none; `EPIPE`, `ECONNRESET`: the connection is gone.
pub fn send_repeated(stream: &TcpStream, payload: &[u8], count: usize) -> io::Result<usize> {
    let start = payload.as_ptr().cast_mut();
    let (mut pieces, used) = cut(start, payload.len(), count);
    let message = message(&mut pieces, used);
    // SAFETY: each piece describes `payload` or its start, which the kernel only reads.
    let sent = unsafe { libc::sendmsg(stream.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Receives `count` bytes, or fewer, in one call; each `room.len()` of them overwrite those before
/// (recvmsg(2) with the same buffer several times). Returns how many bytes came; 0 at the end of the
/// stream.
///
/// # Errors
/// `EAGAIN` if nothing has arrived, `ECONNRESET` if the connection is gone.
pub fn receive_repeatedly(
    stream: &TcpStream,
    room: &mut [u8],
    count: usize,
    received: Received,
) -> io::Result<usize> {
    let (mut pieces, used) = cut(room.as_mut_ptr(), room.len(), count);
    let mut message = message(&mut pieces, used);
    let flags = if received == Received::Dropped { libc::MSG_TRUNC } else { 0 };
    // SAFETY: each piece describes `room` or its start, to which nobody else refers meanwhile.
    let taken = unsafe { libc::recvmsg(stream.as_raw_fd(), &raw mut message, flags) };
    usize::try_from(taken).map_err(|_| io::Error::last_os_error())
}

type Pieces = [libc::iovec; MOST_PIECES];

/// `count` bytes as pieces of `length` bytes at `start`, the last of which may be shorter, and how
/// many pieces there are.
fn cut(start: *mut u8, length: usize, count: usize) -> (Pieces, usize) {
    let piece = libc::iovec { iov_base: start.cast(), iov_len: length };
    let mut pieces = [piece; MOST_PIECES];
    let (whole, rest) = (count / length.max(1), count % length.max(1));
    if whole >= MOST_PIECES || rest == 0 {
        return (pieces, whole.clamp(1, MOST_PIECES));
    }
    pieces[whole].iov_len = rest;
    (pieces, whole + 1)
}

fn message(pieces: &mut Pieces, used: usize) -> libc::msghdr {
    // SAFETY: it consists of numbers and of pointers that may be null.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_iov = pieces.as_mut_ptr();
    message.msg_iovlen = used as _;
    message
}

/// How often a buffer is used in a call: what the kernel keeps of pieces without an allocation
/// (`UIO_FASTIOV`, `linux/uio.h`).
pub const MOST_PIECES: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_cut_into_pieces_of_the_buffer() {
        let lengths = |length, count| {
            let (pieces, used) = cut(std::ptr::null_mut(), length, count);
            pieces[..used].iter().map(|piece| piece.iov_len).collect::<Vec<_>>()
        };
        assert_eq!(lengths(10, 25), [10, 10, 5]);
        assert_eq!(lengths(10, 4), [4]);
        assert_eq!(lengths(10, 20), [10, 10]);
        assert_eq!(lengths(10, 1_000), [10; MOST_PIECES]);
        assert_eq!(
            lengths(10, 0),
            [10],
            "a call of no bytes would look like the end of the stream"
        );
    }
}
