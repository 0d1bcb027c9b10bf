//! This process: its thread numbers, signals and daemon mode.

use std::io;

/// Continues in the background: in a new session, with standard streams at `/dev/null`
/// (daemon(3)). The working directory stays. It must be called before other threads start,
/// since fork(2) copies only the calling thread.
///
/// # Errors
/// `EAGAIN` or `ENOMEM` if fork(2) fails.
pub fn become_daemon() -> io::Result<()> {
    // SAFETY: the call takes two flags; the caller has no other threads, so that the
    // child has a whole copy of the process.
    let done = unsafe { libc::daemon(1, 0) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The thread ID of the calling thread (gettid(2)).
pub fn thread_id() -> i32 {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::gettid() }
}

/// Ignores SIGXFSZ: a write beyond the limit of file sizes (`RLIMIT_FSIZE`, setrlimit(2))
/// then fails with `EFBIG` and does not end the process. Memory files count too.
pub fn ignore_file_size_signal() {
    // SAFETY: no handler is installed, so that nothing of ours runs in a signal.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Whether a process with this ID exists, of any user (kill(2) with signal 0).
pub fn exists(process: i32) -> bool {
    // 0 and below mean groups of processes.
    if process <= 0 {
        return false;
    }
    // SAFETY: signal 0 is not sent: the call only looks whether it could be (kill(2)).
    let done = unsafe { libc::kill(process, 0) };
    done == 0 || io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
}

/// Stack of a thread that waits most of the time, of which there may be thousands. A stack of
/// 2 MiB, the usual size, is one huge page where these are on (`transparent_hugepage/enabled`),
/// and wholly in memory as soon as it is touched.
pub const STACK_BYTES: usize = 512 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_exists_and_none_has_a_number_beyond_all() {
        assert!(exists(std::process::id().cast_signed()));
        assert!(exists(1));
        assert!(!exists(i32::MAX) && !exists(0) && !exists(-1));
    }
}
