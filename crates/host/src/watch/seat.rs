//! A collector with what it read, what it could not, and when its turn is.

use std::time::Duration;

use measurement::{Gap, Series, Timestamp};

use crate::collectors::{Collector, Told};
use crate::{Reading, Tree};

/// A collector in a watch.
pub(super) struct Seat {
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

impl Seat {
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

    /// Whether it read for the look with this index.
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
            Ok(Told::Something) => Outcome::Read,
            Ok(Told::Nothing) => Outcome::Nothing,
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

    /// Puts what it read into `series`. What failed at the last attempt is not known to be
    /// unchanged where it is not among the counters.
    pub(super) fn settle(self, rows: usize, series: &mut Series, gaps: &mut Vec<Gap>) {
        if self.outcome == Outcome::Read {
            series.note_read(self.collector.family());
        }
        self.reading.settle(rows, series, gaps);
        gaps.extend(self.gaps);
    }
}

/// How long a source rests that took so much CPU time and so much time: one takes a quarter
/// of a hundredth of a CPU, and what sleeps a twentieth of the time.
fn rest(cpu: Duration, wall: Duration) -> Duration {
    if cpu < CHEAP && wall < CHEAP { Duration::ZERO } else { (cpu * 400).max(wall * 20) }
}

/// Nobody looks so often that this matters.
const CHEAP: Duration = Duration::from_micros(250);
