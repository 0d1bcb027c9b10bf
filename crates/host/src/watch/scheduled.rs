//! A collector of a watch: its readings, its gaps, and when it is due.

use std::time::Duration;

use measurement::{Gap, Series, Timestamp};

use crate::collectors::{Collector, ReadOutcome};
use crate::{Reading, Tree};

/// A collector with its readings and its schedule.
pub(super) struct ScheduledCollector {
    collector: Box<dyn Collector>,
    reading: Reading,
    outcome: Outcome,
    gaps: Vec<Gap>,
    read_at: Option<usize>,
    due: Timestamp,
}

/// How the last attempt went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// There was nothing to read yet.
    Nothing,
    Read,
    Failed,
}

impl ScheduledCollector {
    pub(super) fn new(collector: Box<dyn Collector>) -> Self {
        Self {
            collector,
            reading: Reading::default(),
            outcome: Outcome::Nothing,
            gaps: Vec::new(),
            read_at: None,
            due: Timestamp::default(),
        }
    }

    pub(super) fn follow_threads(&mut self, threads: &[i32]) {
        self.collector.follow_threads(threads);
    }

    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        now >= self.due
    }

    /// Whether it was read for the sample with this index.
    pub(super) fn has_read(&self, row: usize) -> bool {
        self.read_at == Some(row)
    }

    pub(super) fn thin(&mut self, keep: &[usize]) {
        self.reading.thin(keep);
        let last = keep.len().checked_sub(1);
        self.read_at = self.read_at.filter(|row| keep.last() == Some(row)).and(last);
    }

    pub(super) fn read(&mut self, tree: &Tree, row: usize, now: Timestamp) {
        let (cpu, wall) = (linux::clock::thread_cpu(), linux::clock::monotonic());
        self.read_at = Some(row);
        self.reading.begin(row);
        self.outcome = match self.collector.read(tree, &mut self.reading) {
            Ok(ReadOutcome::Complete) => Outcome::Read,
            Ok(ReadOutcome::Nothing) => Outcome::Nothing,
            Err(gap) => {
                if !self.gaps.contains(&gap) {
                    self.gaps.push(gap);
                }
                Outcome::Failed
            }
        };
        let cpu = linux::clock::thread_cpu().saturating_sub(cpu);
        let wall = linux::clock::monotonic().saturating_sub(wall);
        self.due = now.after(rest(cpu, wall));
    }

    /// Appends its counters to `series` and its gaps to `gaps`. Its family counts as read only if
    /// the last attempt succeeded: after a failure a missing counter need not be unchanged.
    pub(super) fn append_to(self, rows: usize, series: &mut Series, gaps: &mut Vec<Gap>) {
        if self.outcome == Outcome::Read {
            series.note_read(self.collector.family());
        }
        self.reading.append_to(rows, series, gaps);
        gaps.extend(self.gaps);
    }
}

/// Pause after a read that took `cpu` of CPU time and `wall` of time: a collector takes at most
/// 0.25 % of a CPU, and sleeps in the kernel for at most 5 % of the time.
fn rest(cpu: Duration, wall: Duration) -> Duration {
    if cpu < CHEAP && wall < CHEAP { Duration::ZERO } else { (cpu * 400).max(wall * 20) }
}

/// A read that takes less needs no pause at the rates of samples in use.
const CHEAP: Duration = Duration::from_micros(250);
