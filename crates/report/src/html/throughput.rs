//! Rates as data of the page: the main numbers of each direction, and their course over time.

use measurement::record::DirectionIntervals;
use measurement::units::{group_thousands, show_time};
use measurement::{BitRate, Direction, DirectionOutcome, Interval, Quantity, TestRecord};
use serde::Serialize;

use crate::verdict::percent;

/// The main numbers of a direction, or of an exchange of requests.
#[derive(Debug, Serialize)]
pub(super) struct ThroughputRow {
    title: String,
    value: String,
    facts: Vec<[String; 2]>,
}

/// The rate of one direction in each interval, as this end counted it.
#[derive(Debug, Serialize)]
pub(super) struct Course {
    title: &'static str,
    /// Ends of the intervals; the first begins at `from_seconds`.
    seconds: Vec<f64>,
    from_seconds: f64,
    /// The first so many intervals are the omitted start.
    omitted: usize,
    rates: Vec<BitRate>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    retransmits: Vec<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<i64>,
    streams: Vec<StreamCourse>,
    #[serde(skip_serializing_if = "Option::is_none")]
    asked_bits_per_second: Option<BitRate>,
}

#[derive(Debug, Serialize)]
struct StreamCourse {
    id: u32,
    rates: Vec<BitRate>,
}

/// One for each direction; of an exchange of requests the median round trip.
pub(super) fn rows(record: &TestRecord) -> Vec<ThroughputRow> {
    let plan = &record.plan;
    if let Some(trips) = &record.outcome.round_trips {
        let facts = [
            ("99 %", show_time(trips.times.p99)),
            ("round trips", format!("{:.0} /s", trips.rate)),
            ("lost", group_thousands(trips.lost)),
        ];
        let value = Quantity::RoundTrip.show(trips.times.p50.as_secs_f64());
        return vec![ThroughputRow { title: plan.row(), value, facts: named(&facts) }];
    }
    let rows = record.outcome.directions.iter().map(|outcome| ThroughputRow {
        title: plan.row_of_direction(outcome.direction),
        value: outcome.headline().map_or_else(|| "-".to_owned(), |all| all.rate.to_string()),
        facts: facts(outcome),
    });
    rows.collect()
}

fn facts(outcome: &DirectionOutcome) -> Vec<[String; 2]> {
    let known = [
        ("asked", outcome.asked.map(|rate| rate.to_string())),
        ("lost", outcome.datagrams.map(|ledger| percent(ledger.loss()))),
        ("retransmitted", outcome.retransmits.map(group_thousands)),
        ("jitter", outcome.jitter_seconds.map(|jitter| Quantity::RoundTrip.show(jitter))),
        ("Jain's index", outcome.fairness.map(|fairness| format!("{:.3}", fairness.jain))),
    ];
    let known = known.into_iter().filter_map(|(name, value)| Some((name, value?)));
    named(&known.collect::<Vec<_>>())
}

fn named(facts: &[(&str, String)]) -> Vec<[String; 2]> {
    facts.iter().map(|(name, value)| [(*name).to_owned(), value.clone()]).collect()
}

/// Those of the directions that have intervals.
pub(super) fn courses(record: &TestRecord) -> Vec<Course> {
    let directions = record.intervals.iter().filter(|one| !one.intervals.is_empty());
    directions.map(|direction| course(record, direction)).collect()
}

fn course(record: &TestRecord, direction: &DirectionIntervals) -> Course {
    let intervals = &direction.intervals;
    let way = if direction.sender { Direction::Send } else { Direction::Receive };
    let some_of = |of: fn(&Interval) -> i64| {
        let values: Vec<_> = intervals.iter().map(of).collect();
        if values.iter().any(|value| *value != 0) { values } else { Vec::new() }
    };
    let retransmits = some_of(|one| i64::try_from(one.retransmits).unwrap_or(i64::MAX));
    Course {
        title: if direction.sender { "sent" } else { "received" },
        seconds: intervals.iter().map(|one| millis(one.to.as_secs_f64())).collect(),
        from_seconds: millis(intervals[0].from.as_secs_f64()),
        omitted: intervals.iter().filter(|one| one.omitted).count(),
        rates: intervals.iter().map(|one| one.rate).collect(),
        retransmits: retransmits.into_iter().map(i64::cast_unsigned).collect(),
        missing: some_of(|one| one.missing),
        streams: streams(record, direction),
        asked_bits_per_second: record.paced(way),
    }
}

/// To the millisecond: more digits are noise.
fn millis(seconds: f64) -> f64 {
    (seconds * 1000.0).round() / 1000.0
}

/// The rate of each stream, if there are several and few enough to tell apart.
fn streams(record: &TestRecord, direction: &DirectionIntervals) -> Vec<StreamCourse> {
    let own =
        || record.streams.iter().enumerate().filter(|(_, one)| one.sender == direction.sender);
    let is_whole = record.samples.len() == direction.intervals.len() + 1;
    if !is_whole || !(2..=MOST_STREAMS).contains(&own().count()) {
        return Vec::new();
    }
    let rates = |(index, stream): (usize, &measurement::record::StreamRecord)| {
        let rates = record.samples.windows(2).map(|pair| {
            let (earlier, later) = (pair[0].streams.get(index)?, pair[1].streams.get(index)?);
            let moved = |one: &measurement::StreamSample| one.moved(stream.sender, stream.block);
            let bytes = moved(later).saturating_sub(moved(earlier));
            Some(BitRate::average(bytes, pair[1].at.since(pair[0].at)))
        });
        Some(StreamCourse { id: stream.id, rates: rates.collect::<Option<_>>()? })
    };
    own().map(rates).collect::<Option<_>>().unwrap_or_default()
}

/// More lines cannot be told apart.
const MOST_STREAMS: usize = 16;
