//! What the kernel says about a process: CPU time and memory (proc(5)).

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};

/// A process that is looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Process(u32);

impl Process {
    /// By its id.
    pub(super) fn new(id: u32) -> Self {
        Self(id)
    }

    /// User and system time of all its threads so far.
    pub(super) fn cpu_time(self) -> Result<Duration> {
        let stat = read(&format!("/proc/{}/stat", self.0))?;
        times(&stat).map(|times| times.own).context("a /proc/PID/stat without times")
    }

    /// The most memory that was resident, in bytes; none once it has ended.
    pub(super) fn peak_memory(self) -> Option<u64> {
        self.status("VmHWM:")
    }

    /// The memory that is resident now, in bytes; none once it has ended.
    pub(super) fn resident_memory(self) -> Option<u64> {
        self.status("VmRSS:")
    }

    fn status(self, key: &str) -> Option<u64> {
        bytes(&fs::read_to_string(format!("/proc/{}/status", self.0)).ok()?, key)
    }

    /// Lets the peak begin anew; false if the kernel does not (`CONFIG_PROC_PAGE_MONITOR`).
    pub(super) fn reset_peak(self) -> bool {
        fs::write(format!("/proc/{}/clear_refs", self.0), "5").is_ok()
    }
}

/// User and system time of the children of this process that were waited for.
pub(super) fn cpu_time_of_children() -> Result<Duration> {
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

fn bytes(status: &str, key: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
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
    fn memory_is_in_bytes() {
        let status = "VmPeak:\t  9 kB\nVmHWM:\t    1234 kB\nVmRSS:\t 1 kB\n";
        assert_eq!(bytes(status, "VmHWM:"), Some(1_263_616));
        assert_eq!(bytes(status, "VmRSS:"), Some(1_024));
        assert_eq!(bytes("Name:\tended\n", "VmRSS:"), None);
    }

    #[test]
    fn this_process_has_all() {
        let process = Process::new(std::process::id());
        assert!(
            process.cpu_time().is_ok()
                && process.peak_memory() > Some(0)
                && process.resident_memory() > Some(0)
        );
    }
}
