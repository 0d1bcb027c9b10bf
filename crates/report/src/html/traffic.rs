//! Where traffic went as data of the page: places of datagrams, time of TCP senders, round trips.

use measurement::judgement::{Ledger, TimeShares};
use measurement::{DirectionAccount, RoundTrips, TestRecord};
use serde::Serialize;

use crate::judgement::place;

/// Where the datagrams of a direction went: the parts add up to those sent.
#[derive(Debug, Serialize)]
pub(super) struct Flow {
    title: String,
    sent: u64,
    parts: Vec<Part>,
}

#[derive(Debug, Serialize)]
struct Part {
    kind: &'static str,
    place: String,
    counter: String,
    datagrams: u64,
    least: u64,
    most: u64,
}

/// Shares of the time of the TCP senders of a direction, by what limited them.
#[derive(Debug, Serialize)]
pub(super) struct Shares {
    title: String,
    parts: Vec<(&'static str, f64)>,
    retransmitted_segments: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    rtt_seconds: Option<f64>,
}

/// Round-trip times, as cumulative counts: at most so long, so many.
#[derive(Debug, Serialize)]
pub(super) struct Times {
    title: &'static str,
    count: u64,
    lost: u64,
    /// Names and values in seconds.
    quantiles: Vec<(&'static str, f64)>,
    buckets: Vec<(f64, u64)>,
}

/// Those of each direction with datagrams.
pub(super) fn flows(record: &TestRecord) -> Vec<Flow> {
    let accounts = accounts(record).filter_map(|account| Some((account, account.ledger.as_ref()?)));
    let flow = |(account, ledger): (&DirectionAccount, &Ledger)| Flow {
        title: record.plan.row_of_direction(account.direction),
        sent: ledger.sent,
        parts: parts(ledger),
    };
    accounts.map(flow).collect()
}

fn parts(ledger: &Ledger) -> Vec<Part> {
    let part = |kind, place: &str, datagrams| Part {
        kind,
        place: place.to_owned(),
        counter: String::new(),
        datagrams,
        least: datagrams,
        most: datagrams,
    };
    let drops = ledger.drops.iter().map(|drop| Part {
        kind: "drop",
        place: place(drop),
        counter: drop.counter.clone(),
        datagrams: drop.datagrams,
        least: drop.least,
        most: drop.most,
    });
    let remainder = Part {
        least: ledger.remainder_least,
        most: ledger.remainder_most,
        ..part("remainder", "no counter tells", ledger.remainder)
    };
    let whole = [
        part("received", "received", ledger.received),
        part("late", "late", ledger.late),
        part("in_flight", "in flight at the end", ledger.in_flight),
    ];
    let all = whole.into_iter().chain(drops).chain([remainder]);
    all.filter(|part| part.datagrams > 0 || part.most > 0).collect()
}

/// Those of each direction whose sender reports them.
pub(super) fn shares(record: &TestRecord) -> Vec<Shares> {
    let known = accounts(record).filter_map(|account| {
        let tcp = account.tcp.as_ref()?;
        Some(Shares {
            title: record.plan.row_of_direction(account.direction),
            parts: named(tcp.shares.as_ref()?),
            retransmitted_segments: tcp.retransmitted_segments,
            rtt_seconds: tcp.rtt_micros.map(|micros| f64::from(micros) / 1e6),
        })
    });
    known.collect()
}

fn named(shares: &TimeShares) -> Vec<(&'static str, f64)> {
    vec![
        ("network or CPU", shares.congestion_window),
        ("receive window", shares.receive_window),
        ("send buffer", shares.send_buffer),
        ("application", shares.application),
    ]
}

/// Of an exchange its round trips; of a test with a probe those on the idle path and under load.
pub(super) fn times(record: &TestRecord) -> Vec<Times> {
    let outcome = &record.outcome;
    let own = outcome.round_trips.iter().map(|trips| ("round trips", trips));
    let probed = outcome.latency.iter();
    let probed = probed.flat_map(|both| [("idle", &both.idle), ("under load", &both.loaded)]);
    let known = own.chain(probed).filter(|(_, trips)| trips.count > 0);
    known.map(|(title, trips)| of_trips(title, trips)).collect()
}

fn of_trips(title: &'static str, trips: &RoundTrips) -> Times {
    let times = &trips.times;
    let quantiles = [
        ("least", times.min),
        ("median", times.p50),
        ("90 %", times.p90),
        ("99 %", times.p99),
        ("99.9 %", times.p999),
        ("most", times.max),
    ];
    let mut sum = 0;
    let buckets = trips.histogram.iter().map(|(nanos, count)| {
        sum += count;
        (*nanos as f64 / 1e9, sum)
    });
    Times {
        title,
        count: trips.count,
        lost: trips.lost,
        quantiles: quantiles.map(|(name, time)| (name, time.as_secs_f64())).to_vec(),
        buckets: buckets.collect(),
    }
}

/// What load adds to round trips: `grade B of the added delay, 1200 round trips per minute`.
pub(super) fn delay(record: &TestRecord) -> Option<String> {
    let loaded = record.outcome.latency.as_ref()?;
    let grade = loaded.grade.map(|grade| format!("grade {grade} of the added delay"));
    let rpm = loaded.responsiveness.as_ref();
    let rpm = rpm.and_then(|one| one.rpm).map(|rpm| format!("{rpm:.0} round trips per minute"));
    let parts: Vec<_> = grade.into_iter().chain(rpm).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn accounts(record: &TestRecord) -> impl Iterator<Item = &DirectionAccount> {
    record.judgement.iter().flat_map(|judgement| &judgement.directions)
}
