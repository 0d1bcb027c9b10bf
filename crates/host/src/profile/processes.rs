//! Identifies a process: this one, another, or a thread of the kernel.

use std::fs;

use measurement::Task;
use measurement::is_shown;

/// Kind and name of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) task: Task,
    /// `iperf3`, `ksoftirqd/0`; empty: not known.
    pub(super) name: String,
}

/// A process that is not known.
pub(super) static UNKNOWN: Process = Process { task: Task::Other, name: String::new() };

/// Reads `/proc/PID/stat` (proc_pid_stat(5)) while the process exists.
pub(super) fn identify(process: i32) -> Process {
    if process == 0 {
        return Process { task: Task::Idle, name: "idle".to_owned() };
    }
    let stat = fs::read(format!("/proc/{process}/stat")).unwrap_or_default();
    let stat = String::from_utf8_lossy(&stat);
    let is_own = u32::try_from(process).ok() == Some(std::process::id());
    match parse(&stat) {
        Some((name, flags)) => Process { task: task(is_own, flags), name },
        None => Process { task: task(is_own, 0), ..UNKNOWN.clone() },
    }
}

fn task(is_own: bool, flags: u64) -> Task {
    match (is_own, flags & KERNEL_THREAD != 0) {
        (true, _) => Task::Own,
        (_, true) => Task::Kernel,
        _ => Task::Other,
    }
}

/// Name and flags (`/proc/PID/stat`, proc(5)); the name may have brackets and blanks in it.
fn parse(text: &str) -> Option<(String, u64)> {
    let (before, after) = text.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    let flags = after.split_whitespace().nth(6)?.parse().ok()?;
    let is_harmless = |letter: &char| is_shown(*letter) && *letter != ';';
    Some((name.chars().filter(is_harmless).collect(), flags))
}

/// `PF_KTHREAD` of the kernel's include/linux/sched.h.
const KERNEL_THREAD: u64 = 0x0020_0000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_of_the_kernel_is_known_by_its_flags() {
        let line = "15 (ksoftirqd/0) S 2 0 0 0 -1 69238848 0 0 0 0 0 9 0 0 20 0 1 0 9";
        let (name, flags) = parse(line).expect("a line of proc(5)");
        assert_eq!((name.as_str(), task(false, flags)), ("ksoftirqd/0", Task::Kernel));
        let line = "77 (a ) b;) R 1 77 77 0 -1 4194304 0";
        let (name, flags) = parse(line).expect("a line of proc(5)");
        assert_eq!((name.as_str(), task(false, flags)), ("a ) b", Task::Other));
        assert_eq!(parse("77 (cut"), None);
    }

    #[test]
    fn this_process_is_own_and_process_zero_is_idle() {
        let own = identify(std::process::id().cast_signed());
        assert!(own.task == Task::Own && !own.name.is_empty());
        assert_eq!(identify(0).task, Task::Idle);
        assert_eq!(identify(i32::MAX), UNKNOWN);
    }
}
