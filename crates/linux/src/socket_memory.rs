//! Buffer use and drops of a socket (`SO_MEMINFO`, `linux/sock_diag.h`), as sock_diag(7)
//! reports them.

use std::io;
use std::os::fd::AsFd;

use crate::option;

/// Buffer use and drops of a socket: the array of `SO_MEMINFO` (`SK_MEMINFO_*`,
/// `linux/sock_diag.h`). All fields but the last are bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct SocketMemory {
    /// Bytes waiting to be read, with the kernel's overhead (`SK_MEMINFO_RMEM_ALLOC`).
    pub receive_allocated: u32,
    /// Limit of [`Self::receive_allocated`] (`SK_MEMINFO_RCVBUF`).
    pub receive_buffer: u32,
    /// Bytes that were sent and have not left the device (`SK_MEMINFO_WMEM_ALLOC`).
    pub send_allocated: u32,
    /// Limit of [`Self::send_allocated`] (`SK_MEMINFO_SNDBUF`).
    pub send_buffer: u32,
    forward_allocated: u32,
    send_queued: u32,
    option_memory: u32,
    backlog: u32,
    /// Packets dropped since the socket was opened (`SK_MEMINFO_DROPS`).
    pub drops: u32,
}

/// Reads buffer use and drops of a socket (`SO_MEMINFO`, `linux/sock_diag.h`).
///
/// # Errors
/// `ENOPROTOOPT` before Linux 4.12; `Unsupported` if the kernel does not report drops.
pub fn socket_memory(socket: &impl AsFd) -> io::Result<SocketMemory> {
    // SAFETY: the structure is all numbers.
    let read = unsafe { option::get::<SocketMemory>(socket, libc::SOL_SOCKET, SO_MEMINFO) };
    let (memory, length) = read?;
    let is_whole = length == size_of::<SocketMemory>();
    if is_whole { Ok(memory) } else { Err(io::ErrorKind::Unsupported.into()) }
}

/// `asm-generic/socket.h`, and the architectures that number socket options differently.
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
