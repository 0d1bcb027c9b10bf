//! The state of one end of a running test ([`Course`]): plan, streams and samples so far, from
//! which output in iperf3's format is made.

use std::time::Duration;

use crate::outcome::CpuUse;
use crate::plan::TestPlan;
use crate::sample::Sample;
use crate::stream::{DirectionIntervals, StreamRecord};
use crate::units::Timestamp;

/// Counters of one end of a test up to now, for output in iperf3's format while the test runs.
#[derive(Clone, Copy, Debug)]
pub struct Course<'a> {
    /// Plan of the test.
    pub plan: &'a TestPlan,
    /// Streams of the test, in the order in which they were opened.
    pub streams: &'a [StreamRecord],
    /// The counters over time, each sample in the order of the streams; the first is
    /// taken at the start.
    pub samples: &'a [Sample],
    /// The intervals between the samples that were taken, for each direction. With many streams
    /// there are more of them than samples that were kept.
    pub intervals: &'a [DirectionIntervals],
    /// Index of the sample from which the result counts. During the omitted start (`--omit`) no
    /// such sample exists yet, and the index is the number of samples.
    pub base: usize,
    /// When this end stopped sending; none: it has not stopped.
    pub stopped: Option<Timestamp>,
    /// CPU use of this process; zero before the end of the test.
    pub cpu: CpuUse,
}

impl<'a> Course<'a> {
    /// Of a test that ended before it began.
    pub fn before_the_start(plan: &'a TestPlan) -> Self {
        let (streams, samples, intervals) = (&[], &[], &[]);
        Self { plan, streams, samples, intervals, base: 0, stopped: None, cpu: CpuUse::default() }
    }

    /// The time that this end has measured as a sender (`sender` is true) or as a receiver, without
    /// the omitted start (`--omit`). A sender's measurement ends when it stops sending, a
    /// receiver's with its last sample. Zero while the omitted start lasts.
    pub fn span(&self, sender: bool) -> Duration {
        let (Some(base), Some(last)) = (self.samples.get(self.base), self.samples.last()) else {
            return Duration::ZERO;
        };
        let end = if sender { self.stopped.unwrap_or(last.at) } else { last.at };
        end.since(base.at)
    }
}
