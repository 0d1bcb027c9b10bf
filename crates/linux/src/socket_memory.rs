//! What a socket holds, and what the kernel dropped at it (`SO_MEMINFO`,
//! `linux/sock_diag.h`): the figures of sock_diag(7) for a socket of one's own.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};

/// The array that `SO_MEMINFO` fills, `SK_MEMINFO_*`: all in bytes but the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct SocketMemory {
    /// Waits to be read, with what the kernel needs for each packet.
    pub receive_allocated: u32,
    /// Limit of that.
    pub receive_buffer: u32,
    /// Sent and not yet through the device.
    pub send_allocated: u32,
    /// Limit of that.
    pub send_buffer: u32,
    forward_allocated: u32,
    send_queued: u32,
    option_memory: u32,
    backlog: u32,
    /// Packets dropped since the socket was opened.
    pub drops: u32,
}

/// Asks the kernel what a socket holds.
///
/// # Errors
/// What getsockopt(2) reports: `ENOPROTOOPT` before Linux 4.12; `Unsupported` if it does not
/// count drops.
pub fn socket_memory(socket: &impl AsFd) -> io::Result<SocketMemory> {
    let mut memory = MaybeUninit::<SocketMemory>::zeroed();
    let mut length = crate::length_of::<SocketMemory>();
    // SAFETY: pointer and length describe the structure, which is all numbers, so that
    // zeroes stand for what an older kernel leaves out.
    let (done, memory) = unsafe {
        let done = libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            SO_MEMINFO,
            memory.as_mut_ptr().cast(),
            &raw mut length,
        );
        (done, memory.assume_init())
    };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    let is_whole = length == crate::length_of::<SocketMemory>();
    if is_whole { Ok(memory) } else { Err(io::ErrorKind::Unsupported.into()) }
}

/// `asm-generic/socket.h`, and those that number options in their own way.
const SO_MEMINFO: libc::c_int =
    if cfg!(any(target_arch = "sparc", target_arch = "sparc64")) { 0x0039 } else { 55 };

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    #[test]
    fn a_socket_that_is_full_counts_what_it_drops() {
        let receiver = UdpSocket::bind("127.0.0.1:0").expect("bound");
        socket2::SockRef::from(&receiver).set_recv_buffer_size(4096).expect("set");
        let sender = UdpSocket::bind("127.0.0.1:0").expect("bound");
        let to = receiver.local_addr().expect("an address");
        for _ in 0..100 {
            sender.send_to(&[0; 1000], to).expect("sent");
        }
        let memory = socket_memory(&receiver).expect("told");
        assert!(memory.receive_allocated > 0, "{memory:?}");
        let held = u32::try_from(receiver_holds(&receiver)).expect("few");
        assert_eq!(memory.drops + held, 100, "{memory:?}");
    }

    fn receiver_holds(socket: &UdpSocket) -> usize {
        socket.set_nonblocking(true).expect("set");
        std::iter::from_fn(|| socket.recv(&mut [0; 2000]).ok()).count()
    }
}
