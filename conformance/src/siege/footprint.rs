//! What a process takes up, as of proc(5): threads, descriptors, memory, CPU time.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;

/// What a process takes up at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Footprint {
    pub(super) threads: u64,
    pub(super) descriptors: u64,
    /// Resident memory in KiB.
    pub(super) resident: u64,
    /// CPU time in clock ticks, of threads that have ended too.
    pub(super) ticks: u64,
}

impl Footprint {
    /// Reads that of a process.
    pub(super) fn of(process: u32) -> anyhow::Result<Self> {
        let read = |name: &str| {
            fs::read_to_string(format!("/proc/{process}/{name}"))
                .with_context(|| format!("process {process} is gone"))
        };
        let (status, stat) = (read("status")?, read("stat")?);
        let descriptors = fs::read_dir(format!("/proc/{process}/fd"))
            .with_context(|| format!("process {process} is gone"))?;
        Ok(Self {
            threads: field(&status, "Threads:"),
            descriptors: descriptors.count() as u64,
            resident: field(&status, "VmRSS:"),
            ticks: ticks(&stat),
        })
    }

    /// Resident memory in MiB.
    pub(super) fn mebibytes(self) -> f64 {
        self.resident as f64 / 1024.0
    }

    /// CPU time.
    pub(super) fn cpu(self) -> Duration {
        Duration::from_millis(self.ticks * MILLIS_PER_TICK)
    }

    /// Whether it holds no more threads and descriptors than `other`.
    pub(super) fn is_within(self, other: Self) -> bool {
        self.threads <= other.threads && self.descriptors <= other.descriptors
    }

    /// In words.
    pub(super) fn describe(self) -> String {
        format!(
            "{} threads, {} descriptors, {:.1} MiB",
            self.threads,
            self.descriptors,
            self.mebibytes()
        )
    }
}

/// Waits until a process holds no more threads and descriptors than before; how long
/// that took and what it held at the end.
pub(super) fn await_return(
    process: u32,
    before: Footprint,
    patience: Duration,
) -> anyhow::Result<(Option<Duration>, Footprint)> {
    let start = Instant::now();
    loop {
        let now = Footprint::of(process)?;
        let waited = start.elapsed();
        if now.is_within(before) {
            return Ok((Some(waited), now));
        }
        if waited > patience {
            return Ok((None, now));
        }
        thread::sleep(POLL_INTERVAL);
    }
}

fn field(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|rest| rest.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// `utime` and `stime`: fields 14 and 15, of which two stand before the name's bracket.
fn ticks(stat: &str) -> u64 {
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    after_name.split_whitespace().skip(11).take(2).filter_map(|one| one.parse::<u64>().ok()).sum()
}

/// `USER_HZ` is 100 on every architecture that Linux runs linerate on (time(7)).
const MILLIS_PER_TICK: u64 = 10;
const POLL_INTERVAL: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_found_behind_a_name_with_blanks_and_brackets() {
        let stat = "12 (a ) b) S 1 2 3 4 5 6 7 8 9 10 30 12 0 0 20 0 4 0 100";
        assert_eq!(ticks(stat), 42);
    }

    #[test]
    fn a_field_is_found_by_its_name() {
        assert_eq!(field("Name:\tx\nVmRSS:\t  123 kB\nThreads:\t4\n", "VmRSS:"), 123);
        assert_eq!(field("", "VmRSS:"), 0);
    }

    #[test]
    fn this_process_has_threads_and_descriptors() {
        let own = Footprint::of(std::process::id()).expect("proc is mounted");
        assert!(own.threads > 0 && own.descriptors > 0 && own.resident > 0);
        assert!(own.is_within(own));
    }
}
