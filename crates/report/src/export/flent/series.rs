//! Series over time as flent names them, from the results of records.

use std::time::Duration;

use measurement::{Direction, Transport};
use serde_json::{Value, json};

use crate::results::ResultRow;

/// Values over time; several tests of one kind follow each other in it.
pub(super) struct Series {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// Begin and end in seconds since the first test began, and the value from one to the other, in
    /// the order of their ends.
    values: Vec<(f64, f64, f64)>,
}

/// Kind of the values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Mbit/s.
    Rate,
    /// Milliseconds.
    RoundTrip,
}

/// All series of these results.
pub(super) fn of(rows: &[ResultRow<'_>]) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    let mut begin = 0.0;
    for row in rows {
        for (name, kind, values) in [rates(row), round_trips(row)].into_iter().flatten() {
            let values =
                values.into_iter().map(|(from, to, value)| (begin + from, begin + to, value));
            match all.iter_mut().find(|one| one.name == name) {
                Some(one) => one.values.extend(values),
                None => all.push(Series { name, kind, values: values.collect() }),
            }
        }
        begin += row.seconds();
    }
    all.retain(|one| !one.values.is_empty());
    all
}

type Found = (String, Kind, Vec<(f64, f64, f64)>);

fn rates(row: &ResultRow<'_>) -> Option<Found> {
    let name = match row.outcome?.direction {
        Direction::Receive => "download",
        Direction::Send | Direction::Both => "upload",
    };
    let intervals = row.intervals()?.intervals.iter();
    let values = intervals.map(|one| {
        let rate = one.rate.bits_per_second() as f64 / 1e6;
        (one.from.as_secs_f64(), one.to.as_secs_f64(), rate)
    });
    Some((format!("{} {name}", row.record.plan.transport), Kind::Rate, values.collect()))
}

/// Single probes, else the mean over the time of the test.
fn round_trips(row: &ResultRow<'_>) -> Option<Found> {
    let trips = row.round_trips()?;
    let record = row.record;
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    let begin = record.start.or_else(|| record.probes.first().map(|probe| probe.sent));
    let probes = record.probes.iter().filter_map(|probe| {
        let at = probe.sent.since(begin?).as_secs_f64();
        Some((at, at, millis(probe.round_trip?)))
    });
    // Those before the test, on the idle path, are all at its begin otherwise.
    let mut values: Vec<_> = probes.filter(|(at, ..)| *at > 0.0 && *at <= row.seconds()).collect();
    if values.is_empty() {
        values.push((0.0, row.seconds(), millis(trips.times.mean)));
    }
    // A probe beside a test is UDP, whatever the test is.
    let is_own = record.outcome.round_trips.is_some();
    let transport = if is_own { record.plan.transport } else { Transport::Udp };
    Some((format!("Ping (ms) {transport}"), Kind::RoundTrip, values))
}

impl Series {
    /// For each of `times`, which are `step` apart: the mean of what lies in the step before it, or
    /// covers it; null: nothing does.
    pub(super) fn sampled(&self, times: &[f64], step: f64) -> Vec<Value> {
        let mut rest = &self.values[..];
        let mean = |time: &f64| {
            let from = time - step;
            // Those that ended before; the order is that of the ends.
            while let [(_, to, _), after @ ..] = rest
                && *to <= from
            {
                rest = after;
            }
            let within = rest.iter().take_while(|(begin, ..)| begin < time);
            let (mut sum, mut count) = (0.0, 0.0);
            for (.., value) in within {
                (sum, count) = (sum + value, count + 1.0);
            }
            if count > 0.0 { json!(sum / count) } else { Value::Null }
        };
        times.iter().map(mean).collect()
    }

    /// Each value with its time in seconds since the epoch.
    pub(super) fn raw(&self, begin: f64) -> Vec<Value> {
        self.values.iter().map(|(_, to, value)| json!({ "t": begin + to, "val": value })).collect()
    }
}
