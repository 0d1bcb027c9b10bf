//! User namespaces: how an unprivileged process gets network namespaces of its own.
//!
//! Inside a new user namespace a process holds every capability over the namespaces that it
//! creates from there, and none over the host (`user_namespaces(7)`). Many systems forbid
//! user namespaces, and some permit their creation but not their use; [`try_in_fork`] finds
//! out.

use std::fs;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::panic::{self, AssertUnwindSafe};

use super::unshare;

/// Moves the process into a new user namespace, in which it is root, and into a new network
/// namespace that belongs to it.
///
/// The process keeps its open sockets, but new ones see only a loopback interface that is
/// down. Its user outside, and its rights to files, stay the same.
///
/// # Errors
/// `EINVAL` if the process has more than one thread, `EPERM` if the system forbids user
/// namespaces, `ENOSPC` beyond `user.max_user_namespaces` (`unshare(2)`). After an error
/// the process may already have left its network namespace; try it in a fork first
/// ([`try_in_fork`]).
pub fn enter_user_namespace() -> io::Result<()> {
    // SAFETY: geteuid and getegid take nothing, touch no memory and never fail.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET)?;
    // An unprivileged process may map its group only after it gave up
    // setgroups, see user_namespaces(7).
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1"))
}

/// Whether the effective capabilities of the calling thread contain `CAP_NET_ADMIN` and
/// `CAP_SYS_ADMIN`. A security module or a seccomp filter may still forbid the work itself.
pub fn may_administrate_network() -> bool {
    let needed = 1 << CAP_NET_ADMIN | 1 << CAP_SYS_ADMIN;
    effective_capabilities().is_ok_and(|effective| effective & needed == needed)
}

/// Whether the effective capabilities of the calling thread contain `CAP_NET_ADMIN`, which changes
/// settings of the network take.
pub fn may_configure_network() -> bool {
    effective_capabilities().is_ok_and(|effective| effective & 1 << CAP_NET_ADMIN != 0)
}

/// Runs `act` in a forked copy of the process, which then exits.
///
/// What `act` does to the process, such as entering a namespace, happens to the copy only.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] unless the process has a single thread: other threads,
/// and the locks that they hold, do not survive a fork in working order.
/// [`io::ErrorKind::Other`] with the text of `act`'s `Err` or of its panic. `EAGAIN` or
/// `ENOMEM` if fork(2) fails.
pub fn try_in_fork(act: impl FnOnce() -> Result<(), String>) -> io::Result<()> {
    require_single_thread()?;
    let (reader, writer) = io::pipe()?;
    // SAFETY: the process has one thread, checked above, and only this thread
    // could start another: no lock is held by anyone else at the fork, so the
    // copy may run ordinary code. It never returns from `perform`.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            drop(reader);
            perform(act, writer)
        }
        child => {
            drop(writer);
            let report = read_report(reader);
            reap(child);
            report
        }
    }
}

/// Runs `act` in the forked copy, writes the result to the parent and exits.
fn perform(act: impl FnOnce() -> Result<(), String>, mut writer: PipeWriter) -> ! {
    let outcome = panic::catch_unwind(AssertUnwindSafe(act))
        .unwrap_or_else(|_| Err("the rehearsal panicked".to_owned()));
    let report = outcome.map_or_else(|reason| reason, |()| SUCCESS.to_owned());
    // A report that cannot be written is read as a failure.
    let _ = writer.write_all(report.as_bytes());
    // SAFETY: _exit ends the copy at once and takes no pointers. Unlike `exit`
    // it flushes no buffer that the parent will flush again.
    unsafe { libc::_exit(0) }
}

fn read_report(mut reader: PipeReader) -> io::Result<()> {
    let mut report = String::new();
    reader.read_to_string(&mut report)?;
    match report.as_str() {
        SUCCESS => Ok(()),
        "" => Err(io::Error::other("the rehearsal ended without a report")),
        _ => Err(io::Error::other(report)),
    }
}

fn reap(child: libc::pid_t) {
    // SAFETY: waitpid accepts a null status pointer. If the caller ignores
    // SIGCHLD the child is reaped already and the error means just that.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
}

fn require_single_thread() -> io::Result<()> {
    match fs::read_dir("/proc/self/task")?.count() {
        1 => Ok(()),
        threads => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("the process has {threads} threads instead of one"),
        )),
    }
}

fn effective_capabilities() -> io::Result<u64> {
    let mut header = CapabilityHeader { version: LINUX_CAPABILITY_VERSION_3, process: 0 };
    let mut sets = [CapabilitySets::default(); 2];
    // SAFETY: both pointers are valid for writes during the call, and version 3
    // makes the kernel write exactly two elements.
    let result = unsafe { libc::syscall(libc::SYS_capget, &raw mut header, sets.as_mut_ptr()) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(u64::from(sets[1].effective) << 32 | u64::from(sets[0].effective))
}

/// `struct __user_cap_header_struct`, [linux/capability.h].
///
/// [linux/capability.h]: https://github.com/torvalds/linux/blob/v4.19/include/uapi/linux/capability.h
#[repr(C)]
struct CapabilityHeader {
    version: u32,
    /// The thread's number; 0 is the calling thread.
    process: libc::c_int,
}

/// `struct __user_cap_data_struct`: 32 of the 64 capabilities.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct CapabilitySets {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

const LINUX_CAPABILITY_VERSION_3: u32 = 0x2008_0522;
const CAP_NET_ADMIN: u32 = 12;
const CAP_SYS_ADMIN: u32 = 21;
const SUCCESS: &str = "ok";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_capabilities_are_those_that_proc_shows() {
        let status = fs::read_to_string("/proc/thread-self/status").expect("proc is mounted");
        let line = status.lines().find(|line| line.starts_with("CapEff:"));
        let shown = line.and_then(|line| line.split_whitespace().nth(1));
        let shown = u64::from_str_radix(shown.expect("present"), 16).expect("hexadecimal");
        assert_eq!(effective_capabilities().expect("permitted"), shown);
    }

    #[test]
    fn a_process_with_threads_is_not_forked() {
        let refusal = std::thread::spawn(|| try_in_fork(|| Ok(()))).join().expect("no panic");
        assert_eq!(refusal.expect_err("refused").kind(), io::ErrorKind::InvalidInput);
    }
}
