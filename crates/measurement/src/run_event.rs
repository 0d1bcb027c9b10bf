//! Events of a run as lines of JSON, each an object of its own ([`RunEvent`]): what a program reads
//! while the tests run.

use std::borrow::Cow;

use serde::Serialize;

use crate::environment::Peer;
use crate::judgement::Stamp;
use crate::outcome::DirectionOutcome;
use crate::plan::{Direction, TestPlan};
use crate::record::{RecordSet, RunError, TestRecord};
use crate::sample::Interval;
use crate::units::BitRate;

/// An event of a run: one line of the output format `json-stream`. Rows are numbered from 0.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "lowercase")]
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
pub enum RunEvent<'a> {
    /// The streams of a row start to send.
    Start {
        /// Number of the row.
        row: u32,
        /// Title of the row: `TCP send`.
        title: String,
        /// Version of this linerate.
        linerate: Cow<'a, str>,
        /// Plan of the row.
        plan: Cow<'a, TestPlan>,
        /// The peer of the test.
        peer: Cow<'a, Peer>,
    },
    /// An interval of one direction at this end has passed.
    Interval {
        /// Number of the row.
        row: u32,
        /// The direction: [`Direction::Send`] or [`Direction::Receive`].
        direction: Direction,
        /// The traffic in the interval.
        #[serde(flatten)]
        interval: Interval,
    },
    /// A row has ended. The verdict of its record is refined when all rows have ended.
    Row {
        /// Number of the row.
        row: u32,
        /// Record of the row.
        record: Cow<'a, TestRecord>,
    },
    /// The run has ended: always the last line.
    End {
        /// Summary of each row with a record.
        rows: Vec<RowSummary>,
        /// What rows miss of the requirements (`--min-rate`), a sentence each.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        missed: Vec<String>,
        /// Titles of the rows that were not run because of an early end.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        not_run: Vec<String>,
        /// Error that ended the run; none: all rows ran to their planned end.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        error: Option<RunError>,
    },
}

/// Summary of one row of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RowSummary {
    /// Title of the row: `TCP send`.
    pub title: String,
    /// Each direction; empty for an exchange of requests.
    pub directions: Vec<DirectionSummary>,
    /// 99th percentile of the round-trip times under load, in seconds; none: no requests were sent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p99_seconds: Option<f64>,
    /// Stamp of the result; none: it was not judged.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stamp: Option<Stamp>,
    /// The verdict in one sentence; none: there is none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub verdict: Option<String>,
}

/// Summary of one direction of a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DirectionSummary {
    /// The direction: [`Direction::Send`] or [`Direction::Receive`].
    pub direction: Direction,
    /// Delivered rate; of a receiver that reported none the acknowledged or offered one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rate_bits_per_second: Option<BitRate>,
    /// UDP: lost datagrams as a share of those sent, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lost_ratio: Option<f64>,
    /// TCP: retransmitted segments.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retransmits: Option<u64>,
}

impl RunEvent<'_> {
    /// The end of a run with these records, of which `missed` and `not_run` are known.
    pub fn end(set: &RecordSet, missed: Vec<String>, not_run: Vec<String>) -> Self {
        let rows = set.records.iter().map(RowSummary::of).collect();
        Self::End { rows, missed, not_run, error: set.error.clone() }
    }
}

impl RowSummary {
    /// Summary of the row with this record.
    pub fn of(record: &TestRecord) -> Self {
        let outcome = &record.outcome;
        let probed = outcome.latency.as_ref().map(|latency| &latency.loaded);
        let trips = outcome.round_trips.as_ref().or(probed).filter(|trips| trips.count > 0);
        let judgement = record.judgement.as_ref();
        let verdict = judgement.and_then(|judgement| judgement.verdict.as_ref());
        Self {
            title: record.plan.row(),
            directions: outcome.directions.iter().map(DirectionSummary::of).collect(),
            p99_seconds: trips.map(|trips| trips.times.p99.as_secs_f64()),
            stamp: judgement.map(|judgement| judgement.stamp),
            verdict: verdict.map(|verdict| verdict.sentence.clone()),
        }
    }
}

impl DirectionSummary {
    fn of(outcome: &DirectionOutcome) -> Self {
        let datagrams = outcome.datagrams.filter(|datagrams| datagrams.sent > 0);
        Self {
            direction: outcome.direction,
            rate_bits_per_second: outcome.headline().map(|moved| moved.rate),
            lost_ratio: datagrams.map(|datagrams| datagrams.loss()),
            retransmits: outcome.retransmits,
        }
    }
}
