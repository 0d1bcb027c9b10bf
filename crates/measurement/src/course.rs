//! One end's side of a test, as far as it has come.

use std::time::Duration;

use crate::outcome::CpuUse;
use crate::plan::TestPlan;
use crate::record::{DirectionIntervals, StreamRecord};
use crate::sample::{Interval, Sample};
use crate::units::Timestamp;

/// What one end has measured so far.
#[derive(Clone, Copy, Debug)]
pub struct Course<'a> {
    /// What was asked.
    pub plan: &'a TestPlan,
    /// The streams, in the order in which they were opened.
    pub streams: &'a [StreamRecord],
    /// The counters over time, each sample in the order of the streams; the first is
    /// taken at the start.
    pub samples: &'a [Sample],
    /// Index of the sample from which the result counts. While the omitted start lasts
    /// there is none such, and it is the number of samples.
    pub base: usize,
    /// When this end stopped sending; none: it still does.
    pub stopped: Option<Timestamp>,
    /// CPU use of this process; zero before the test has ended.
    pub cpu: CpuUse,
}

impl Course<'_> {
    /// The intervals of each direction that this end takes part in.
    pub fn intervals(&self) -> Vec<DirectionIntervals> {
        let Some(first) = self.samples.first() else { return Vec::new() };
        [true, false]
            .into_iter()
            .filter(|sender| self.streams.iter().any(|stream| stream.sender == *sender))
            .map(|sender| {
                let includes = |id| self.streams.iter().any(|s| s.id == id && s.sender == sender);
                let pairs = self.samples.windows(2).enumerate();
                let intervals = pairs.map(|(index, pair)| Interval {
                    omitted: index < self.base,
                    ..Interval::between(&pair[0], &pair[1], first.at, sender, includes)
                });
                DirectionIntervals { sender, intervals: intervals.collect() }
            })
            .collect()
    }

    /// How long this end has measured in the role of a sender, or of a receiver, the
    /// omitted start taken off. A sender's measurement ends when it stops, a receiver's
    /// with the last byte.
    pub fn span(&self, sender: bool) -> Duration {
        let (Some(base), Some(last)) = (self.samples.get(self.base), self.samples.last()) else {
            return Duration::ZERO;
        };
        let end = if sender { self.stopped.unwrap_or(last.at) } else { last.at };
        end.since(base.at)
    }
}
