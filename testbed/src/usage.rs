//! What the kernel counts of a process: CPU time and memory (proc(5)).

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};

/// Reads the counters of one process.
#[derive(Clone, Copy, Debug)]
pub struct Usage(u32);

impl Usage {
    /// A process by its id.
    pub fn of_process(process: u32) -> Self {
        Self(process)
    }

    /// User and system time of all its threads so far.
    ///
    /// # Errors
    /// The process has ended.
    pub fn cpu_time(self) -> Result<Duration> {
        let stat = read(&format!("/proc/{}/stat", self.0))?;
        times(&stat).map(|times| times.own).context("a /proc/PID/stat without times")
    }

    /// The most memory that was resident, in bytes; none once it has ended.
    pub fn peak_memory(self) -> Option<u64> {
        self.status("VmHWM:").map(|kibibytes| kibibytes * 1024)
    }

    /// The memory that is resident now, in bytes; none once it has ended.
    pub fn resident_memory(self) -> Option<u64> {
        self.status("VmRSS:").map(|kibibytes| kibibytes * 1024)
    }

    /// Its threads; none once it has ended.
    pub fn threads(self) -> Option<u64> {
        self.status("Threads:")
    }

    /// Its open descriptors; none once it has ended.
    pub fn descriptors(self) -> Option<usize> {
        fs::read_dir(format!("/proc/{}/fd", self.0)).ok().map(Iterator::count)
    }

    /// Lets the peak of memory begin anew; false if the kernel does not
    /// (`CONFIG_PROC_PAGE_MONITOR`).
    pub fn reset_peak(self) -> bool {
        fs::write(format!("/proc/{}/clear_refs", self.0), "5").is_ok()
    }

    fn status(self, key: &str) -> Option<u64> {
        number(&fs::read_to_string(format!("/proc/{}/status", self.0)).ok()?, key)
    }
}

/// User and system time of the children of this process that were waited for.
///
/// # Errors
/// There is no proc file system.
pub fn cpu_time_of_children() -> Result<Duration> {
    let stat = read("/proc/self/stat")?;
    times(&stat).map(|times| times.children).context("a /proc/self/stat without times")
}

#[derive(Debug, PartialEq, Eq)]
struct Times {
    own: Duration,
    children: Duration,
}

/// Fields 14 to 17 of stat; the name, field 2, may hold blanks and parentheses.
fn times(stat: &str) -> Option<Times> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let ticks = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    let time = |ticks: u64| Duration::from_millis(ticks * MILLIS_PER_TICK);
    Some(Times { own: time(ticks(14)? + ticks(15)?), children: time(ticks(16)? + ticks(17)?) })
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
const MILLIS_PER_TICK: u64 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_behind_any_name() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 1 2 3 4 150 50 20 5 20 0 1 0 9 10 11";
        let expected = Times { own: Duration::from_secs(2), children: Duration::from_millis(250) };
        assert_eq!(times(stat), Some(expected));
        assert_eq!(times("7 (a) S 1"), None);
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
