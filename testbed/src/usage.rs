//! What the kernel counts of a process: CPU time and memory (proc(5)).

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};

/// A process, whose counters the kernel reports in `/proc` (proc(5)): CPU time, memory, threads.
#[derive(Clone, Copy, Debug)]
pub struct Usage(u32);

impl Usage {
    /// A reader of the counters of the process with this ID.
    pub fn of_process(process: u32) -> Self {
        Self(process)
    }

    /// User and system time that all threads of the process have used so far.
    ///
    /// # Errors
    /// The process has ended.
    pub fn cpu_time(self) -> Result<Duration> {
        let stat = read(&format!("/proc/{}/stat", self.0))?;
        Stat::parse(&stat).map(|stat| stat.own).context("a /proc/PID/stat without times")
    }

    /// The peak resident memory of the process, in bytes (`VmHWM`, proc_pid_status(5)). `None`: it
    /// has ended.
    pub fn peak_memory(self) -> Option<u64> {
        self.status("VmHWM:").map(|kibibytes| kibibytes * 1024)
    }

    /// The resident memory of the process now, in bytes (`VmRSS`, proc_pid_status(5)). `None`: it
    /// has ended.
    pub fn resident_memory(self) -> Option<u64> {
        self.status("VmRSS:").map(|kibibytes| kibibytes * 1024)
    }

    /// Number of threads of the process. `None`: it has ended.
    pub fn threads(self) -> Option<u64> {
        self.status("Threads:")
    }

    /// Number of open file descriptors of the process. `None`: it has ended, or is of another user.
    pub fn descriptors(self) -> Option<usize> {
        fs::read_dir(format!("/proc/{}/fd", self.0)).ok().map(Iterator::count)
    }

    /// Resets the peak of resident memory to its current value (`/proc/PID/clear_refs`,
    /// proc_pid_clear_refs(5)). Returns false if the kernel refuses, e.g. without
    /// `CONFIG_PROC_PAGE_MONITOR`.
    pub fn reset_peak(self) -> bool {
        fs::write(format!("/proc/{}/clear_refs", self.0), "5").is_ok()
    }

    fn status(self, key: &str) -> Option<u64> {
        number(&fs::read_to_string(format!("/proc/{}/status", self.0)).ok()?, key)
    }
}

/// User and system time of all children of this process that have ended and were waited for
/// (`cutime` and `cstime`, proc_pid_stat(5)).
///
/// # Errors
/// `/proc` cannot be read.
pub fn cpu_time_of_children() -> Result<Duration> {
    let stat = read("/proc/self/stat")?;
    Stat::parse(&stat).map(|stat| stat.children).context("a /proc/self/stat without times")
}

/// What stat says of a process (proc_pid_stat(5)).
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) id: u32,
    pub(crate) parent: u32,
    /// User and system time of all its threads.
    pub(crate) own: Duration,
    /// That of its children that it waited for.
    pub(crate) children: Duration,
}

impl Stat {
    /// Fields 1, 4 and 14 to 17; the name, field 2, may hold blanks and parentheses.
    pub(crate) fn parse(stat: &str) -> Option<Self> {
        let (before_name, after_name) = (stat.split(' ').next()?, stat.rsplit_once(')')?.1);
        let fields: Vec<&str> = after_name.split_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some(Self {
            id: before_name.parse().ok()?,
            parent: u32::try_from(field(4)?).ok()?,
            own: of_ticks(field(14)? + field(15)?),
            children: of_ticks(field(16)? + field(17)?),
        })
    }
}

/// The first number of a line of status, in KiB where it is of memory.
fn number(status: &str, key: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_whitespace().next()?.parse().ok()
}

fn read(path: &str) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {path}"))
}

/// `USER_HZ` is 100 (include/asm-generic/param.h).
pub(crate) fn of_ticks(ticks: u64) -> Duration {
    Duration::from_millis(ticks * 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_behind_any_name() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 1 2 3 4 150 50 20 5 20 0 1 0 9 10 11";
        let (own, children) = (Duration::from_secs(2), Duration::from_millis(250));
        assert_eq!(Stat::parse(stat), Some(Stat { id: 7, parent: 1, own, children }));
        assert_eq!(Stat::parse("7 (a) S 1"), None);
    }

    #[test]
    fn a_line_of_status_is_found_by_its_key() {
        let status = "VmPeak:\t  9 kB\nVmHWM:\t    1234 kB\nVmRSS:\t 1 kB\nThreads:\t4\n";
        assert_eq!((number(status, "VmHWM:"), number(status, "VmRSS:")), (Some(1_234), Some(1)));
        assert_eq!(number(status, "Threads:"), Some(4));
        assert_eq!(number("Name:\tended\n", "VmRSS:"), None);
    }

    #[test]
    fn this_process_has_all() {
        let usage = Usage::of_process(std::process::id());
        assert!(usage.cpu_time().is_ok() && usage.peak_memory() > Some(1 << 16));
        assert!(usage.resident_memory() > Some(1 << 16));
        assert!(usage.threads() > Some(0) && usage.descriptors() > Some(0));
    }
}
