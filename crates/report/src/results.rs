//! Results of a set of records, one for each direction, or for each exchange of requests: what
//! formats for monitoring systems have a line of. No format by itself.

use std::net::SocketAddr;

use measurement::outcome::Ending;
use measurement::record::DirectionIntervals;
use measurement::{Direction, DirectionOutcome, End, RoundTrips, TestRecord};
use time::UtcDateTime;
use time::format_description::well_known::Rfc3339;

use crate::runs;

/// One direction of a record, or its exchange of requests.
pub(crate) struct ResultRow<'a> {
    pub(crate) record: &'a TestRecord,
    /// None: an exchange of requests, which has no direction.
    pub(crate) outcome: Option<&'a DirectionOutcome>,
    /// `TCP send, 3 streams`.
    pub(crate) title: String,
    /// Number among runs of the same plan, from 1; none: it is the only one.
    pub(crate) run: Option<String>,
}

/// The results of these records. A further measurement is none: it answers a question about one.
pub(crate) fn rows(records: &[TestRecord]) -> Vec<ResultRow<'_>> {
    let mut rows = Vec::new();
    let results = runs::numbered(records).into_iter();
    for (record, run) in results.filter(|(record, _)| record.origin.question.is_none()) {
        let run = run.trim().split_once('/').map(|(run, _)| run.to_owned());
        let directions = record.outcome.directions.iter();
        rows.extend(directions.map(|outcome| ResultRow {
            record,
            outcome: Some(outcome),
            title: record.plan.row_of_direction(outcome.direction),
            run: run.clone(),
        }));
        if record.outcome.directions.is_empty() {
            rows.push(ResultRow { record, outcome: None, title: record.plan.row(), run });
        }
    }
    rows
}

impl<'a> ResultRow<'a> {
    /// Whether the test ran to its planned end.
    pub(crate) fn is_complete(&self) -> bool {
        self.record.outcome.ending == Ending::Completed
    }

    /// Round-trip times of the exchange, or of the probe under load. None: there is no answer.
    pub(crate) fn round_trips(&self) -> Option<&'a RoundTrips> {
        let outcome = &self.record.outcome;
        let probed = outcome.latency.as_ref().map(|latency| &latency.loaded);
        outcome.round_trips.as_ref().or(probed).filter(|trips| trips.count > 0)
    }

    /// Start of the test. None: not known.
    pub(crate) fn started(&self) -> Option<UtcDateTime> {
        started(self.record)
    }

    /// Name of the host that tested; of an imported client its address. None: not known.
    pub(crate) fn host(&self) -> Option<String> {
        host(self.record)
    }

    /// Address of the peer, without its port. None: not known.
    pub(crate) fn peer(&self) -> Option<String> {
        peer(self.record)
    }

    /// `tcp` or `udp`.
    pub(crate) fn transport(&self) -> String {
        self.record.plan.transport.to_string().to_lowercase()
    }

    /// `send`, `receive`, or `exchange`.
    pub(crate) fn direction(&self) -> String {
        self.outcome.map_or_else(|| "exchange".to_owned(), |one| one.direction.to_string())
    }

    /// The traffic of this direction over time, as this end saw it. None: not known.
    pub(crate) fn intervals(&self) -> Option<&'a DirectionIntervals> {
        let sends = self.outcome?.direction == Direction::Send;
        self.record.intervals.iter().find(|one| one.sender == sends)
    }

    /// Duration of the test in seconds: what was measured, else what was planned; zero: not known.
    pub(crate) fn seconds(&self) -> f64 {
        let last = self.intervals().and_then(|one| one.intervals.last());
        let planned = match self.record.plan.end {
            End::Time(time) => Some(time),
            End::Bytes(_) | End::Blocks(_) | End::Open => None,
        };
        let trips = self.record.outcome.round_trips.as_ref().map(|trips| trips.span);
        let spans = [last.map(|last| last.to), trips, planned];
        spans.into_iter().flatten().next().unwrap_or_default().as_secs_f64()
    }
}

/// Name of the host that tested; of an imported client its address. None: not known.
pub(crate) fn host(record: &TestRecord) -> Option<String> {
    let named = record.environment.as_ref().map(|here| here.host.clone());
    named.or_else(|| address(record.streams.first()?.local))
}

/// Address of the peer, without its port; an import knows it by its streams. None: not known.
pub(crate) fn peer(record: &TestRecord) -> Option<String> {
    let known = record.peer.as_ref().map(|peer| peer.address);
    address(known.or_else(|| record.streams.first()?.peer))
}

fn address(socket: Option<SocketAddr>) -> Option<String> {
    Some(socket?.ip().to_canonical().to_string())
}

/// Start of a test. None: not known.
pub(crate) fn started(record: &TestRecord) -> Option<UtcDateTime> {
    UtcDateTime::parse(&record.environment.as_ref()?.started_at, &Rfc3339).ok()
}
