//! This process: its thread numbers, signals and daemon mode.

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;
use std::{fs, io};

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

/// Has what `command` starts run before all threads without a real-time policy
/// ([`run_before_others`](crate::host::run_before_others)), if this process may.
pub fn give_priority(command: &mut Command) {
    let rise = || {
        _ = crate::host::run_before_others(crate::host::Rank::Host);
        Ok(())
    };
    // SAFETY: between fork and exec it makes one system call, and takes no lock or memory.
    unsafe { command.pre_exec(rise) };
}

/// Has the kernel kill what `command` starts when the calling thread ends, however that ends
/// (`PR_SET_PDEATHSIG`, prctl(2)). A change of user or capabilities takes it back, so that this comes after
/// whatever else `command` does before its program.
pub fn end_with_this_thread(command: &mut Command) {
    let parent = std::process::id();
    let bind = move || {
        // SAFETY: the call takes numbers. It may be made between fork and exec (signal-safety(7)).
        let done = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) };
        if done != 0 {
            return Err(io::Error::last_os_error());
        }
        // The parent may have ended before.
        if std::os::unix::process::parent_id() == parent {
            Ok(())
        } else {
            Err(io::ErrorKind::Interrupted.into())
        }
    };
    // SAFETY: between fork and exec it makes two system calls, and takes no lock or memory.
    unsafe { command.pre_exec(bind) };
}

/// Kills the processes of the group that `leader` leads: itself, and what it has started. The group is
/// one of its own ([`std::os::unix::process::CommandExt::process_group`]), and `leader` was not waited
/// for.
pub fn kill_group(leader: &std::process::Child) {
    if let Ok(group) = i32::try_from(leader.id())
        && group > 1
    {
        // SAFETY: no memory is passed. The group keeps its number as long as its leader is not waited
        // for. That all have ended already is no error here.
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
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

/// CPU time of a thread, of any process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadUse {
    /// ID of its process.
    pub process: i32,
    /// Its own ID.
    pub thread: i32,
    /// Its name, of at most 15 bytes.
    pub name: String,
    /// Whether it is one of the kernel (`PF_KTHREAD`).
    pub is_kernel: bool,
    /// CPU on which it ran last.
    pub cpu: usize,
    /// CPU time since it began, to a clock tick.
    pub time: Duration,
}

/// The CPU time of every thread that `/proc` shows (proc_pid_stat(5)).
pub fn thread_uses() -> Vec<ThreadUse> {
    let tick =
        Duration::from_secs(1) / u32::try_from(crate::host::ticks_per_second()).unwrap_or(100);
    let mut all = Vec::new();
    for process in numbers("/proc") {
        for thread in numbers(&format!("/proc/{process}/task")) {
            let text = fs::read_to_string(format!("/proc/{process}/task/{thread}/stat"));
            all.extend(text.ok().and_then(|text| thread_use(process, thread, &text, tick)));
        }
    }
    all
}

/// Entries of a directory whose names are numbers.
fn numbers(directory: &str) -> Vec<i32> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn thread_use(process: i32, thread: i32, text: &str, tick: Duration) -> Option<ThreadUse> {
    // A name may hold spaces and parentheses.
    let (name, rest) = text.split_once('(')?.1.rsplit_once(')')?;
    let fields: Vec<_> = rest.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - FIRST_FIELD)?.parse::<u64>().ok();
    Some(ThreadUse {
        process,
        thread,
        name: name.to_owned(),
        is_kernel: field(9)? & PF_KTHREAD != 0,
        cpu: usize::try_from(field(39)?).ok()?,
        time: tick * u32::try_from(field(14)? + field(15)?).ok()?,
    })
}

/// The number of the field after the name (proc_pid_stat(5)).
const FIRST_FIELD: usize = 3;
/// linux/sched.h.
const PF_KTHREAD: u64 = 0x0020_0000;

/// Stack of a thread that waits most of the time, of which there may be thousands. A stack of
/// 2 MiB, the usual size, is one huge page where these are on (`transparent_hugepage/enabled`),
/// and wholly in memory as soon as it is touched.
pub const STACK_BYTES: usize = 512 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_this_thread_is_there_and_odd_names_are_read() {
        let own = thread_uses().into_iter().find(|one| one.thread == thread_id());
        let own = own.expect("it runs");
        assert!(own.process == std::process::id().cast_signed() && !own.is_kernel);
        let text = "7 (a) b (c) S 1 7 7 0 -1 2097152 0 0 0 0 5 6 0 0 20 0 1 0 3 0 0 0 0 0 0 0 0 0 0 \
                    0 0 0 0 0 17 2 0";
        let odd = thread_use(7, 7, text, Duration::from_millis(10)).expect("a line");
        assert_eq!((odd.name.as_str(), odd.is_kernel, odd.cpu), ("a) b (c", true, 2));
        assert_eq!(odd.time, Duration::from_millis(110));
        assert_eq!(thread_use(7, 7, "7 (a) S 1", Duration::ZERO), None);
    }

    #[test]
    fn this_process_exists_and_none_has_a_number_beyond_all() {
        assert!(exists(std::process::id().cast_signed()));
        assert!(exists(1));
        assert!(!exists(i32::MAX) && !exists(0) && !exists(-1));
    }
}
