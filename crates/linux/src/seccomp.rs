//! System calls that are all that this process makes from now on (seccomp(2)): a filter that answers
//! any other with `EPERM`.
//!
//! It is meant for a process with a single thread; threads that are started later inherit the
//! filter. What is submitted to io_uring(7) is not filtered: there Landlock and the lack of
//! capabilities hold.

#[cfg(any(
    target_arch = "x86_64",
    target_arch = "riscv64",
    all(target_arch = "aarch64", target_endian = "little")
))]
mod calls;
#[cfg_attr(
    not(any(
        target_arch = "x86_64",
        target_arch = "riscv64",
        all(target_arch = "aarch64", target_endian = "little")
    )),
    path = "seccomp/no_filter.rs"
)]
mod filter;

use std::io;

/// Work of a process that has the filter of system calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// It serves tests of others.
    Serve,
    /// It runs tests as well, for which it samples the CPUs by perf events.
    Test,
    /// It changes settings of the host, and keeps a journal of them.
    Tune,
}

/// Allows this process the calls that its work needs, and no others, for good. What they can name is
/// bounded, too: no other process or thread group, no program and no executable memory, sockets of
/// IPv4, IPv6 and netlink alone, and the requests of ioctl(2), prctl(2) and fcntl(2) that are made here.
///
/// # Errors
/// `EINVAL` if the kernel has no seccomp, [`io::ErrorKind::Unsupported`] on an architecture whose
/// calls are not known here.
pub fn allow_only(work: Work) -> io::Result<()> {
    let mut filter = filter::program(work);
    if filter.is_empty() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let length = u16::try_from(filter.len()).map_err(io::Error::other)?;
    let program = libc::sock_fprog { len: length, filter: filter.as_mut_ptr() };
    // SAFETY: the first call has no pointers. The kernel only reads the program of the second one,
    // which lives until the call has returned.
    let failed = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
            || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) != 0
    };
    if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
