//! CPU time of the whole machine: other programs that compute meanwhile make a figure doubtful.

use std::fs;

use anyhow::{Context, Result};

use crate::usage::of_ticks;

/// CPU time of all CPUs since boot, busy and in all, in clock ticks (`/proc/stat`, proc_stat(5)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    busy: u64,
    all: u64,
}

impl Machine {
    /// Reads the CPU time of all CPUs until now (`/proc/stat`).
    ///
    /// # Errors
    /// `/proc/stat` cannot be read.
    pub fn read() -> Result<Self> {
        let stat = fs::read_to_string("/proc/stat").context("cannot read /proc/stat")?;
        Self::parse(&stat).context("a /proc/stat without times")
    }

    /// CPU time that other programs used since an `earlier` reading, in percent of the time of all
    /// CPUs. `own` are the CPU seconds of the measured programs.
    pub fn others_since(self, earlier: Self, own: f64) -> f64 {
        let busy = of_ticks(self.busy - earlier.busy).as_secs_f64();
        let all = of_ticks((self.all - earlier.all).max(1)).as_secs_f64();
        (busy - own).max(0.0) / all * 100.0
    }

    /// The first line: user, nice, system, idle, iowait, irq, softirq, steal.
    fn parse(stat: &str) -> Option<Self> {
        let line = stat.lines().next()?.strip_prefix("cpu ")?;
        let times: Vec<u64> = line.split_whitespace().flat_map(str::parse).take(8).collect();
        let [user, nice, system, idle, waiting, rest @ ..] = times.as_slice() else { return None };
        let busy = user + nice + system + rest.iter().sum::<u64>();
        Some(Self { busy, all: busy + idle + waiting })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_ours_is_the_others() {
        let earlier = Machine::parse("cpu  10 0 10 100 0 0 0 0 7 7\ncpu0 1\n").expect("complete");
        let later = Machine::parse("cpu  40 5 50 210 10 3 2 0 7 7\ncpu0 1\n").expect("complete");
        let share = later.others_since(earlier, 0.6);
        assert!((share - 10.0).abs() < 1e-9, "{share}");
        assert_eq!(Machine::parse("cpu0 1 2\n"), None);
    }
}
