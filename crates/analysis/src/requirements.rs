//! What a user requires of each row ([`Requirements`]), and what a record misses of it.
//!
//! The sentences name the options of the command line, since a script passes them on.

use std::time::Duration;

use measurement::units::{show_duration, show_time};
use measurement::{BitRate, Direction, Stamp, TestPlan, TestRecord, Transport};

use crate::words::percent;

/// Thresholds that each row of a run has to keep; none: not required.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Requirements {
    /// Least delivered rate of each direction (`--min-rate`).
    pub min_rate: Option<BitRate>,
    /// Greatest share of lost datagrams, 0 to 1 (`--max-loss`); of rows over UDP.
    pub max_loss: Option<f64>,
    /// Greatest round-trip time under load (`--max-latency`): the 99th percentile of requests or of
    /// a probe, else the highest smoothed round-trip time of TCP (RFC 6298) in the samples.
    pub max_latency: Option<Duration>,
    /// Worst stamp that is accepted (`--require`).
    pub worst_stamp: Option<Stamp>,
}

impl Requirements {
    /// The option that none of these rows can tell, and what would tell it. `probed`: a probe of
    /// the round-trip time runs beside each. None: each option concerns a row.
    pub fn untold(&self, plans: &[TestPlan], probed: bool) -> Option<&'static str> {
        let any = |tells: fn(&TestPlan) -> bool| plans.iter().any(tells);
        if self.min_rate.is_some() && !any(has_rate) {
            Some("--min-rate needs a rate, and requests have none: use it with linerate test")
        } else if self.max_loss.is_some() && !any(is_udp) {
            Some("--max-loss needs datagrams, and TCP has none: add a row with --udp")
        } else if self.max_latency.is_some() && !probed && !any(tells_latency) {
            Some("--max-latency needs round trips, and UDP tells none: add --latency")
        } else {
            None
        }
    }

    /// What `record` misses, a sentence each; empty: it keeps all requirements that concern it.
    pub fn missed(&self, record: &TestRecord) -> Vec<String> {
        let slow = self.min_rate.map(|least| slow(record, least)).unwrap_or_default();
        let lossy = self.max_loss.map(|most| lossy(record, most)).unwrap_or_default();
        let late = self.max_latency.and_then(|most| late(record, most));
        let doubted = self.worst_stamp.and_then(|worst| doubted(record, worst));
        slow.into_iter().chain(lossy).chain(late).chain(doubted).collect()
    }
}

fn has_rate(plan: &TestPlan) -> bool {
    plan.exchange.is_none()
}

fn is_udp(plan: &TestPlan) -> bool {
    plan.transport == Transport::Udp
}

fn tells_latency(plan: &TestPlan) -> bool {
    plan.exchange.is_some() || plan.transport == Transport::Tcp
}

/// The directions of a row, whether or not the record has a result of them.
fn directions(plan: &TestPlan) -> &'static [Direction] {
    match plan.direction {
        Direction::Send => &[Direction::Send],
        Direction::Receive => &[Direction::Receive],
        Direction::Both => &[Direction::Send, Direction::Receive],
    }
}

fn slow(record: &TestRecord, least: BitRate) -> Vec<String> {
    if !has_rate(&record.plan) {
        return Vec::new();
    }
    let check = |direction: &Direction| {
        let row = record.plan.row_of_direction(*direction);
        let outcome = record.outcome.directions.iter().find(|one| one.direction == *direction);
        match outcome.and_then(|outcome| outcome.delivered.or(outcome.acknowledged)) {
            Some(moved) if moved.rate >= least => None,
            Some(moved) => {
                Some(format!("{row} delivered {}, less than --min-rate {least}", moved.rate))
            }
            None => Some(format!("{row} has no delivered rate, for --min-rate {least}")),
        }
    };
    directions(&record.plan).iter().filter_map(check).collect()
}

fn lossy(record: &TestRecord, most: f64) -> Vec<String> {
    if !is_udp(&record.plan) {
        return Vec::new();
    }
    let limit = percent(most);
    let check = |(row, loss): (String, Option<f64>)| match loss {
        Some(loss) if loss <= most => None,
        Some(loss) => Some(format!("{row} lost {}, more than --max-loss {limit}", percent(loss))),
        None => Some(format!("{row} has no count of the lost, for --max-loss {limit}")),
    };
    losses(record).into_iter().filter_map(check).collect()
}

/// The share of lost datagrams of each direction, or of lost requests.
fn losses(record: &TestRecord) -> Vec<(String, Option<f64>)> {
    let plan = &record.plan;
    if plan.exchange.is_some() {
        let trips = record.outcome.round_trips.as_ref();
        let trips = trips.filter(|trips| trips.count + trips.lost > 0);
        let loss = trips.map(|trips| trips.lost as f64 / (trips.count + trips.lost) as f64);
        return vec![(plan.row(), loss)];
    }
    let loss = |direction: &Direction| {
        let outcome = record.outcome.directions.iter().find(|one| one.direction == *direction);
        let datagrams = outcome.and_then(|outcome| outcome.datagrams).filter(|all| all.sent > 0);
        (plan.row_of_direction(*direction), datagrams.map(|datagrams| datagrams.loss()))
    };
    directions(plan).iter().map(loss).collect()
}

fn late(record: &TestRecord, most: Duration) -> Option<String> {
    let (row, limit) = (record.plan.row(), show_duration(most));
    match round_trip(record) {
        Some((time, _)) if time <= most => None,
        Some((time, what)) => {
            let time = show_time(time);
            Some(format!("{row} had {what} of {time}, more than --max-latency {limit}"))
        }
        // Without a probe, rows over UDP tell nothing, and are not concerned.
        None if record.plan.transport == Transport::Udp && record.plan.exchange.is_none() => None,
        None => Some(format!("{row} has no round-trip time, for --max-latency {limit}")),
    }
}

/// The round-trip time under load, and which one it is.
fn round_trip(record: &TestRecord) -> Option<(Duration, &'static str)> {
    let outcome = &record.outcome;
    let probed = outcome.latency.as_ref().map(|latency| &latency.loaded);
    let trips = outcome.round_trips.as_ref().or(probed).filter(|trips| trips.count > 0);
    let p99 = trips.map(|trips| (trips.times.p99, "a p99 round trip"));
    p99.or_else(|| smoothed(record).map(|time| (time, "a smoothed RTT")))
}

/// The highest smoothed round-trip time of the senders in the samples of the result; that of the
/// peer's senders at the end.
fn smoothed(record: &TestRecord) -> Option<Duration> {
    let samples = record.samples.iter().skip(record.base + 1);
    let own = samples.flat_map(|sample| record.streams.iter().zip(&sample.streams));
    let own = own.filter_map(|(stream, sample)| sample.tcp.filter(|_| stream.sender));
    let senders = record.plan.direction != Direction::Send;
    let peers = record.reported.streams.iter().filter_map(|stream| stream.counted?.tcp);
    let times = own.chain(peers.filter(|_| senders)).map(|tcp| tcp.rtt_micros);
    times.filter(|micros| *micros > 0).max().map(|micros| Duration::from_micros(micros.into()))
}

fn doubted(record: &TestRecord, worst: Stamp) -> Option<String> {
    let row = record.plan.row();
    match record.judgement.as_ref().map(|judgement| judgement.stamp) {
        Some(stamp) if stamp <= worst => None,
        Some(stamp) => Some(format!("{row} is {stamp}, worse than --require {}", wanted(worst))),
        None => Some(format!("{row} has no stamp, for --require {}", wanted(worst))),
    }
}

/// The stamp as the option spells it.
fn wanted(stamp: Stamp) -> String {
    stamp.to_string().to_lowercase()
}

#[cfg(test)]
mod tests {
    use measurement::{DatagramLedger, Judgement, Loaded, RoundTrips, Spread, Throughput};

    use super::*;
    use crate::test_record::{tcp, udp};

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn a_rate_below_the_least_is_missed() {
        let mut record = tcp();
        let rate = |megabits: u64| BitRate::from_bits_per_second(megabits * 1_000_000);
        let moved = Throughput::over(574_000_000 / 8, Duration::from_secs(1));
        record.outcome.directions[0].delivered = Some(moved);
        let least =
            |megabits| Requirements { min_rate: Some(rate(megabits)), ..Default::default() };
        assert!(least(574).missed(&record).is_empty());
        let text = "TCP send delivered 574.0 Mbit/s, less than --min-rate 900.0 Mbit/s";
        assert_eq!(least(900).missed(&record), [text]);
        record.outcome.directions.clear();
        assert!(least(1).missed(&record)[0].contains("no delivered rate"));
    }

    #[test]
    fn loss_concerns_datagrams_only() {
        let most = Requirements { max_loss: Some(0.001), ..Default::default() };
        assert!(most.missed(&tcp()).is_empty());
        let mut record = udp();
        let ledger = |lost| DatagramLedger { sent: 1_000, lost, ..DatagramLedger::default() };
        record.outcome.directions[0].datagrams = Some(ledger(1));
        assert!(most.missed(&record).is_empty());
        record.outcome.directions[0].datagrams = Some(ledger(20));
        assert_eq!(most.missed(&record), ["UDP send lost 2.0 %, more than --max-loss 0.10 %"]);
        let plans = [tcp().plan];
        assert!(most.untold(&plans, true).is_some_and(|text| text.contains("--udp")));
        assert_eq!(most.untold(&[tcp().plan, udp().plan], false), None);
    }

    #[test]
    fn latency_is_that_of_a_probe_else_the_smoothed_one() {
        let most = Requirements { max_latency: Some(millis(5)), ..Default::default() };
        let mut record = tcp();
        for sample in &mut record.samples {
            for stream in &mut sample.streams {
                stream.tcp.as_mut().expect("TCP").rtt_micros = 6_000;
            }
        }
        let text = "TCP send had a smoothed RTT of 6 ms, more than --max-latency 5ms";
        assert_eq!(most.missed(&record), [text]);
        let times = Spread { p99: millis(4), ..Spread::default() };
        let loaded = RoundTrips { count: 9, times, ..RoundTrips::default() };
        record.outcome.latency = Some(Loaded { loaded, ..Loaded::default() });
        assert!(most.missed(&record).is_empty());
        assert!(most.untold(&[udp().plan], false).is_some());
        assert_eq!(most.untold(&[udp().plan], true), None);
        assert!(most.missed(&udp()).is_empty(), "no probe ran beside it");
    }

    #[test]
    fn a_worse_stamp_than_required_is_missed() {
        let mut record = tcp();
        let stamped = |stamp| Some(Judgement { stamp, ..crate::judge(&tcp()) });
        let worst = |stamp| Requirements { worst_stamp: Some(stamp), ..Default::default() };
        record.judgement = stamped(Stamp::Suspect);
        assert!(worst(Stamp::Suspect).missed(&record).is_empty());
        let text = "TCP send is SUSPECT, worse than --require valid";
        assert_eq!(worst(Stamp::Valid).missed(&record), [text]);
        record.judgement = None;
        assert!(worst(Stamp::Suspect).missed(&record)[0].contains("no stamp"));
    }
}
