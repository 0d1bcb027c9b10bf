//! Safe wrappers of the Linux interfaces that linerate uses.
//!
//! Everything unsafe that talks to the kernel lives here, behind small types
//! whose misuse does not compile. Nothing here knows what a test is.

pub mod clock;
pub mod driver_statistics;
pub mod entropy;
pub mod epoll;
pub mod ethtool_ioctl;
pub mod event;
pub mod futex;
pub mod heap;
pub mod host;
#[cfg(target_arch = "riscv64")]
pub mod hwprobe;
pub mod landlock;
pub mod limits;
pub mod memory;
pub mod namespace;
pub mod netlink;
mod option;
pub mod packet_socket;
pub mod packets;
pub mod payload;
pub mod perf;
pub mod poll;
pub mod privileges;
pub mod process;
mod socket_memory;
pub mod splice;
pub mod tcp;
pub mod topology;
pub mod udp;
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

pub use socket_memory::{SocketMemory, socket_memory};

/// Size of `T` as socket calls want it.
#[expect(clippy::cast_possible_truncation, reason = "no kernel structure is that large")]
const fn length_of<T>() -> libc::socklen_t {
    size_of::<T>() as libc::socklen_t
}

/// Whether the kernel had no room for what was to be sent (`ENOBUFS`, send(2)).
pub fn lacks_buffers(error: &std::io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENOBUFS)
}

/// Whether the kernel had no memory for what was to be done, or the user must not have so much
/// of it locked (`ENOMEM`, `RLIMIT_MEMLOCK`).
pub fn lacks_memory(error: &std::io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENOMEM)
}

/// Socket buffers in effect, in bytes (`SO_SNDBUF` and `SO_RCVBUF`, socket(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketBuffers {
    /// For sending.
    pub send: usize,
    /// For receiving.
    pub receive: usize,
}

/// Lets calls on a socket wait for what they need, but no longer than `longest`
/// (`SO_RCVTIMEO` and `SO_SNDTIMEO`, socket(7)); they then fail with `EAGAIN`.
///
/// # Errors
/// What fcntl(2) and setsockopt(2) report.
pub fn set_call_timeout(
    socket: &impl std::os::fd::AsFd,
    longest: std::time::Duration,
) -> std::io::Result<()> {
    let socket = socket2::SockRef::from(socket);
    socket.set_read_timeout(Some(longest))?;
    socket.set_write_timeout(Some(longest))?;
    socket.set_nonblocking(false)
}

/// Reads a socket's buffer sizes back. The kernel doubles what is asked and limits
/// it by `net.core.wmem_max` and `rmem_max`.
///
/// # Errors
/// What getsockopt(2) reports.
pub fn socket_buffers(socket: &impl std::os::fd::AsFd) -> std::io::Result<SocketBuffers> {
    let socket = socket2::SockRef::from(socket);
    Ok(SocketBuffers { send: socket.send_buffer_size()?, receive: socket.recv_buffer_size()? })
}
