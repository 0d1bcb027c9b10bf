//! Sending without a copy (`MSG_ZEROCOPY`, Documentation/networking/msg_zerocopy.rst). The
//! kernel reports later that it has released the pages, and whether it copied them after
//! all.

use std::io;
use std::mem::size_of;
use std::net::TcpStream;
use std::os::fd::AsRawFd;

use crate::option;

/// Zero-copy sends that one notification of a socket's error queue reports as completed
/// (`MSG_ZEROCOPY`, Documentation/networking/msg_zerocopy.rst).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completions {
    /// Sends whose pages are released.
    pub done: u64,
    /// Completed sends whose bytes the kernel copied, as it does on loopback.
    pub copied: u64,
}

/// Enables sends without a copy on a socket (`SO_ZEROCOPY`,
/// Documentation/networking/msg_zerocopy.rst).
///
/// # Errors
/// `ENOPROTOOPT` before Linux 4.14, `EOPNOTSUPP` if the socket does not support it.
pub fn enable_zerocopy(stream: &TcpStream) -> io::Result<()> {
    let on: libc::c_int = 1;
    option::set(stream, libc::SOL_SOCKET, libc::SO_ZEROCOPY, &on)
}

/// Sends `bytes` without a copy (`MSG_ZEROCOPY`), as one send to be completed; returns how many
/// bytes the socket took. `bytes` must not change until [`read_completions`] reports the
/// completion: else the changed bytes may be sent.
///
/// # Errors
/// `ENOBUFS` if too many sends are not completed or `net.core.optmem_max` is used up;
/// `EAGAIN` if the send buffer is full; `EPIPE` or `ECONNRESET` if the connection is gone.
pub fn send_zerocopy(stream: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
    let flags = libc::MSG_ZEROCOPY | libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: pointer and length describe `bytes`, which the kernel only reads.
    let sent = unsafe { libc::send(stream.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Reads one notification of completed zero-copy sends from the socket's error queue
/// (`MSG_ERRQUEUE`, recvmsg(2)). `None` if the queue is empty.
///
/// # Errors
/// The errors of recvmsg(2); the errors of the stream are not in that queue.
pub fn read_completions(stream: &TcpStream) -> io::Result<Option<Completions>> {
    let mut space = ControlSpace::default();
    // SAFETY: a header of all zeroes says that there is nothing.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_control = space.0.as_mut_ptr().cast();
    header.msg_controllen = size_of::<ControlSpace>() as _;
    let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
    // SAFETY: the header points to control space on this stack frame.
    let received = unsafe { libc::recvmsg(stream.as_raw_fd(), &raw mut header, flags) };
    if received < 0 {
        let error = io::Error::last_os_error();
        return if error.kind() == io::ErrorKind::WouldBlock { Ok(None) } else { Err(error) };
    }
    // SAFETY: recvmsg(2) filled the header, and its control space is alive.
    Ok(Some(unsafe { read_note(&header) }))
}

/// # Safety
/// `header` was filled by recvmsg(2), and its control space is alive.
unsafe fn read_note(header: &libc::msghdr) -> Completions {
    // SAFETY: by the caller's promise; CMSG_FIRSTHDR is null if there is no message. One of
    // this kind has a `sock_extended_err`; the read does not ask for alignment.
    unsafe {
        let message = libc::CMSG_FIRSTHDR(header);
        if message.is_null() || !tells_of_errors(&*message) {
            return Completions::default();
        }
        let note = libc::CMSG_DATA(message).cast::<libc::sock_extended_err>().read_unaligned();
        if note.ee_errno != 0 || note.ee_origin != ORIGIN_ZERO_COPY {
            return Completions::default();
        }
        // The first and the last send that it tells of, in numbers that wrap.
        let done = u64::from(note.ee_data.wrapping_sub(note.ee_info)) + 1;
        let is_copied = note.ee_code & CODE_COPIED != 0;
        Completions { done, copied: if is_copied { done } else { 0 } }
    }
}

fn tells_of_errors(message: &libc::cmsghdr) -> bool {
    matches!(
        (message.cmsg_level, message.cmsg_type),
        (libc::SOL_IP, libc::IP_RECVERR) | (libc::SOL_IPV6, libc::IPV6_RECVERR)
    )
}

/// Room for a `sock_extended_err` with its address, aligned as cmsg(3) requires.
#[repr(C, align(8))]
struct ControlSpace([u8; 128]);

impl Default for ControlSpace {
    fn default() -> Self {
        Self([0; 128])
    }
}

/// `SO_EE_ORIGIN_ZEROCOPY` and `SO_EE_CODE_ZEROCOPY_COPIED` of `linux/errqueue.h`.
const ORIGIN_ZERO_COPY: u8 = 5;
const CODE_COPIED: u8 = 1;

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};
    use std::time::Duration;

    use super::*;

    #[test]
    fn sends_are_completed_and_loopback_owns_up_to_copying() {
        for ip in [Ipv4Addr::LOCALHOST.into(), std::net::IpAddr::from(Ipv6Addr::LOCALHOST)] {
            let listener = TcpListener::bind((ip, 0)).expect("listens");
            let near = TcpStream::connect(listener.local_addr().expect("bound")).expect("connects");
            let (mut far, _) = listener.accept().expect("accepts");
            enable_zerocopy(&near).expect("the kernel knows it");
            assert_eq!(read_completions(&near).expect("read"), None);
            let bytes = vec![7; 100_000];
            for _ in 0..3 {
                let sent = send_zerocopy(&near, &bytes).expect("sent");
                far.read_exact(&mut vec![0; sent]).expect("read");
            }
            let mut sum = Completions::default();
            for _ in 0..1_000 {
                while let Some(more) = read_completions(&near).expect("read") {
                    sum.done += more.done;
                    sum.copied += more.copied;
                }
                if sum.done >= 3 {
                    break;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            assert_eq!(sum, Completions { done: 3, copied: 3 });
        }
    }
}
