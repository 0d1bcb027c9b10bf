//! Safe wrappers of the Linux interfaces that linerate uses.
//!
//! All unsafe code that calls the kernel is here, behind small types whose misuse does not
//! compile. This crate contains no measurement logic.

#![expect(unsafe_code, reason = "calls of the kernel, which no other crate makes")]

mod bpf;
pub mod clock;
pub mod driver_statistics;
pub mod entropy;
pub mod epoll;
pub mod ethtool_ioctl;
pub mod event;
pub mod file_lock;
pub mod frame_socket;
pub mod futex;
pub mod heap;
pub mod host;
#[cfg(target_arch = "riscv64")]
pub mod hwprobe;
pub mod landlock;
pub mod limits;
pub mod memory;
pub mod message;
pub mod names;
pub mod namespace;
pub mod netlink;
#[cfg(all(feature = "no-unwinder", panic = "abort", target_env = "musl"))]
mod no_unwinder;
mod option;
mod packet_family;
pub mod packet_socket;
pub mod packets;
pub mod payload;
pub mod perf;
pub mod poll;
pub mod privileges;
pub mod process;
pub mod seccomp;
mod socket_memory;
pub mod splice;
pub mod tcp;
pub mod topology;
pub mod udp;
pub mod unnamed_file;
#[cfg(any(
    target_arch = "x86_64",
    target_arch = "aarch64",
    target_arch = "riscv64",
    target_arch = "loongarch64",
    target_arch = "powerpc64"
))]
pub mod uring;
#[cfg(not(any(
    target_arch = "x86_64",
    target_arch = "aarch64",
    target_arch = "riscv64",
    target_arch = "loongarch64",
    target_arch = "powerpc64"
)))]
#[path = "uring_absent.rs"]
pub mod uring;
pub mod xdp;

pub use socket_memory::{SocketMemory, socket_memory};

/// The size of `T` as a `socklen_t`.
#[expect(clippy::cast_possible_truncation, reason = "no kernel structure is that large")]
const fn length_of<T>() -> libc::socklen_t {
    size_of::<T>() as libc::socklen_t
}

/// Whether an error is `ENOBUFS`: the kernel had no buffer for what was to be sent
/// (send(2)).
pub fn lacks_buffers(error: &std::io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENOBUFS)
}

/// Whether an error is `ENOMEM`: the kernel had no memory, or the limit of locked memory
/// (`RLIMIT_MEMLOCK`) is reached.
pub fn lacks_memory(error: &std::io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENOMEM)
}

/// Sizes of a socket's buffers, in bytes (`SO_SNDBUF` and `SO_RCVBUF`, socket(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketBuffers {
    /// Size of the send buffer.
    pub send: usize,
    /// Size of the receive buffer.
    pub receive: usize,
}

/// Makes a socket blocking, and its calls fail with `EAGAIN` after `longest` (`SO_RCVTIMEO`
/// and `SO_SNDTIMEO`, socket(7)).
///
/// # Errors
/// The errors of fcntl(2) and setsockopt(2); none is expected of an open socket.
pub fn set_call_timeout(
    socket: &impl std::os::fd::AsFd,
    longest: std::time::Duration,
) -> std::io::Result<()> {
    let socket = socket2::SockRef::from(socket);
    socket.set_read_timeout(Some(longest))?;
    socket.set_write_timeout(Some(longest))?;
    socket.set_nonblocking(false)
}

/// Reads the sizes of a socket's buffers. The kernel doubles the size that was set and
/// limits it by `net.core.wmem_max` and `net.core.rmem_max` (socket(7)).
///
/// # Errors
/// The errors of getsockopt(2); none is expected of an open socket.
pub fn socket_buffers(socket: &impl std::os::fd::AsFd) -> std::io::Result<SocketBuffers> {
    let socket = socket2::SockRef::from(socket);
    Ok(SocketBuffers { send: socket.send_buffer_size()?, receive: socket.recv_buffer_size()? })
}
