//! A test that is over, as this end saw it.

use measurement::outcome::CpuUse;
use measurement::record::{DirectionIntervals, StreamRecord};
use measurement::{Interval, Sample, TestPlan, Timestamp};

/// Which end of the control connection this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

/// A test that is over.
pub(crate) struct Measured {
    pub(crate) plan: TestPlan,
    pub(crate) records: Vec<StreamRecord>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) base: usize,
    pub(crate) stopped: Option<Timestamp>,
    pub(crate) cpu: CpuUse,
    pub(crate) stream_error: Option<String>,
}

impl Measured {
    /// The intervals, for each direction that this end took part in.
    pub(crate) fn intervals(&self) -> Vec<DirectionIntervals> {
        intervals(&self.records, &self.samples, self.base)
    }
}

pub(crate) fn intervals(
    records: &[StreamRecord],
    samples: &[Sample],
    base: usize,
) -> Vec<DirectionIntervals> {
    let Some(first) = samples.first() else { return Vec::new() };
    [true, false]
        .into_iter()
        .filter(|sender| records.iter().any(|record| record.sender == *sender))
        .map(|sender| {
            let includes = |id| records.iter().any(|r| r.id == id && r.sender == sender);
            let intervals = samples.windows(2).enumerate().map(|(index, pair)| Interval {
                omitted: index < base,
                ..Interval::between(&pair[0], &pair[1], first.at, sender, includes)
            });
            DirectionIntervals { sender, intervals: intervals.collect() }
        })
        .collect()
}
