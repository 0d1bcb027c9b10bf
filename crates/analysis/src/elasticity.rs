//! How the rate of a test followed what an experiment changed for moments.

use std::time::Duration;

use measurement::outcome::Ending;
use measurement::{
    Conclusion, Direction, Elasticity, Experiment, Hand, Order, Sample, TestRecord, Timestamp,
    Transport,
};

use crate::bottleneck::is_open_to_experiment;
use crate::comparison::student;

/// The experiment that would show what limits a test, at the end of which there are the hands that it
/// uses; `draw` gives a number below its argument. None: the verdict has one explanation, the test is not
/// one of bulk TCP in one direction, or took less time than the experiment would.
pub fn experiment(record: &TestRecord, draw: impl FnMut(usize) -> usize) -> Option<Experiment> {
    let plan = &record.plan;
    let is_bulk = plan.transport == Transport::Tcp && plan.exchange.is_none();
    let is_plain = plan.direction != Direction::Both && !plan.has_many_streams();
    let is_over =
        record.outcome.ending == Ending::Completed && record.trials.elasticities.is_empty();
    if !is_bulk || !is_plain || !is_over || !is_open(record) {
        return None;
    }
    let is_linerate = record.peer.as_ref().is_some_and(|peer| peer.software.starts_with(OWN));
    let sends = plan.direction == Direction::Send;
    let hands = Hand::ALL.into_iter().filter(|hand| is_linerate || hand.is_of_sender() == sends);
    // Pacing shows in round trips, which the sender sees.
    let hands = hands.filter(|hand| *hand != Hand::Pacing || sends);
    let slot = SLOT.max(TRIPS * round_trip(record));
    let experiment = Experiment::new(slot, &hands.collect::<Vec<_>>(), TIMES, draw);
    (experiment.length() <= record.result_span()?.min(LONGEST)).then_some(experiment)
}

/// Whether a verdict has more than one explanation.
fn is_open(record: &TestRecord) -> bool {
    let Some(verdict) = record.judgement.as_ref().and_then(|one| one.verdict.as_ref()) else {
        return false;
    };
    match verdict.conclusion {
        Conclusion::Delivered => false,
        Conclusion::Undecided => true,
        Conclusion::Limited => {
            verdict.findings.first().is_some_and(|limit| is_open_to_experiment(limit.rule))
        }
    }
}

/// The largest smoothed round trip that a sender of this end saw.
fn round_trip(record: &TestRecord) -> Duration {
    let trips = record.samples.iter().flat_map(|sample| &sample.streams).filter_map(|one| one.tcp);
    let micros = trips.map(|tcp| tcp.rtt_micros.max(tcp.receiver_rtt_micros)).max();
    Duration::from_micros(micros.unwrap_or(0).into())
}

/// How the rate of a test followed the hands of its experiment; empty: too little moved. Slots with a
/// hand are compared with those before and after.
pub fn elasticities(record: &TestRecord) -> Vec<Elasticity> {
    let Some(experiment) = &record.plan.experiment else { return Vec::new() };
    let Some(first) = record.samples.first() else { return Vec::new() };
    let slots = Slots { record, start: first.at, length: experiment.slot() };
    let mut all = Vec::new();
    for hand in Hand::ALL {
        let mut uses = Vec::new();
        for (slot, used) in experiment.uses() {
            if used == hand {
                uses.push(slot);
            }
        }
        all.extend(slots.of_hand(hand, &uses));
    }
    all
}

/// The slots of a test.
struct Slots<'a> {
    record: &'a TestRecord,
    start: Timestamp,
    length: Duration,
}

impl Slots<'_> {
    /// How the rate followed a hand in the slots of its `uses`.
    fn of_hand(&self, hand: Hand, uses: &[usize]) -> Option<Elasticity> {
        let (mut followed, mut spared) = (Vec::new(), Vec::new());
        for slot in uses {
            match hand {
                Hand::Pacing => spared.extend(self.spared(*slot)),
                Hand::SenderCpu | Hand::ReceiverCpu => followed.extend(self.followed(*slot, hand)),
            }
        }
        if hand != Hand::Pacing {
            return elasticity(hand, &followed);
        }
        // A policer has no queue: its drops decide.
        let loss = elasticity(hand, &spared).filter(Elasticity::is_followed);
        loss.or_else(|| elasticity(hand, &self.drained(uses)))
    }

    /// How much of what a hand changes in a slot the test followed.
    fn followed(&self, slot: usize, hand: Hand) -> Option<f64> {
        let (before, during, after) = (slot.checked_sub(1)?, slot, slot + 1);
        let plain = (self.moved(before)? * self.moved(after)?).sqrt();
        Some((self.moved(during)? / plain).ln() / hand.rest().ln())
    }

    /// Bytes that arrived in a slot. `None`: no byte arrived.
    fn moved(&self, slot: usize) -> Option<f64> {
        let slot = u32::try_from(slot).ok()?;
        let (from, to) = (self.length * slot, self.length * (slot + 1));
        let moved = self.total(to)? - self.total(from)?;
        (moved > 0.0).then_some(moved)
    }

    /// Bytes that had arrived at a time since the start, on a straight line between two samples.
    fn total(&self, since: Duration) -> Option<f64> {
        let at = self.start.after(since);
        let later = self.record.samples.iter().position(|sample| sample.at >= at);
        let later = later.unwrap_or(self.record.samples.len().saturating_sub(1));
        let (one, other) =
            (self.record.samples.get(later.checked_sub(1)?)?, &self.record.samples[later]);
        let span = other.at.since(one.at).as_secs_f64();
        let part = if span > 0.0 { at.since(one.at).as_secs_f64() / span } else { 1.0 };
        let (one, other) = (self.arrived(one), self.arrived(other));
        Some(one + (other - one) * part.min(1.0))
    }

    fn arrived(&self, sample: &Sample) -> f64 {
        let streams = sample.streams.iter().zip(&self.record.streams);
        let arrived = streams.map(|(one, stream)| match one.tcp {
            Some(tcp) if stream.sender => tcp.acknowledged,
            _ => one.counters.bytes,
        });
        arrived.sum::<u64>() as f64
    }

    /// Share of the loss that did not come while the sender was paced, beside what it sends less. `None`:
    /// little is lost around the slot.
    fn spared(&self, slot: usize) -> Option<f64> {
        let (before, during) = (slot.checked_sub(1)?, slot);
        let (plain, paced) = (self.sent_again(before)?, self.sent_again(during)?);
        (plain >= FEW).then(|| 1.0 - paced / (plain * Hand::Pacing.rest()))
    }

    /// Segments that were sent again in the second half of a slot: a loss of the slot before shows a
    /// round trip after its end.
    fn sent_again(&self, slot: usize) -> Option<f64> {
        let halves = 2 * u32::try_from(slot).ok()?;
        let until = |half: u32| {
            let at = self.start.after(self.length / 2 * (halves + half));
            let mut samples = self.record.samples.iter();
            let sample = samples.find(|sample| sample.at >= at).or(self.record.samples.last())?;
            let senders = sample.streams.iter().filter_map(|one| one.tcp);
            Some(senders.map(|tcp| tcp.retransmits).sum::<u64>())
        };
        Some(until(2)?.saturating_sub(until(1)?) as f64)
    }

    /// Share of the queue, seen as round trips beyond the least one, that went while the sender was
    /// paced, in each of these slots. Nothing went of a queue that does not stand.
    fn drained(&self, paced: &[usize]) -> Vec<f64> {
        let experiment = self.record.plan.experiment.as_ref();
        let uses: Vec<_> = experiment.into_iter().flat_map(|all| all.uses()).collect();
        let end = uses.last().map_or(0, |(slot, _)| *slot);
        let is_plain = |slot: &usize| uses.iter().all(|(other, _)| other != slot);
        let plain = (FIRST..end).filter(is_plain).filter_map(|slot| self.round_trip(slot));
        let mut plain: Vec<_> = plain.collect();
        plain.order_by(|one, other| one.0.total_cmp(&other.0));
        let Some((full, least)) = plain.get(plain.len() / 2) else { return Vec::new() };
        let trips = paced.iter().filter_map(|slot| Some(self.round_trip(*slot)?.0));
        let went =
            |trip: f64| if *full < QUEUED * least { 0.0 } else { (full - trip) / (full - least) };
        trips.map(went).collect()
    }

    /// The longest round trip of a stream at the end of a slot, and the least that it has seen, in
    /// microseconds.
    fn round_trip(&self, slot: usize) -> Option<(f64, f64)> {
        let end = self.start.after(self.length * u32::try_from(slot + 1).ok()?);
        let sample = self.record.samples.iter().find(|sample| sample.at >= end)?;
        let trips = sample.streams.iter().filter_map(|one| one.tcp);
        let (trip, least) = trips.map(|tcp| (tcp.rtt_micros, tcp.min_rtt_micros)).max()?;
        Some((trip.into(), least.into()))
    }
}

/// The elasticity of a hand, from the one that each of its slots shows. `None`: there are too few slots.
fn elasticity(hand: Hand, seen: &[f64]) -> Option<Elasticity> {
    let (value, margin) = mean(seen)?;
    let slots = u32::try_from(seen.len()).unwrap_or(u32::MAX);
    Some(Elasticity { hand, value, margin, slots })
}

/// The mean, and half the width of its confidence interval. `None`: there are too few values.
fn mean(values: &[f64]) -> Option<(f64, f64)> {
    let count = values.len() as f64;
    if count < 2.0 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (count - 1.0);
    Some((mean, student::two_sided(LEVEL, count - 1.0) * (variance / count).sqrt()))
}

/// Begin of the name of peers that know experiments.
const OWN: &str = "linerate ";
/// Shortest slot: a test moves many blocks in it, and a scheduler gives each thread its turns.
const SLOT: Duration = Duration::from_millis(20);
/// Round trips of a slot, in which a change shows.
const TRIPS: u32 = 4;
/// Slots with each hand.
const TIMES: usize = 6;
/// Longest experiment.
const LONGEST: Duration = Duration::from_secs(1);
/// Confidence level of the interval.
const LEVEL: f64 = 0.90;
/// The first slot in which a test has its rate.
const FIRST: usize = 2;
/// Least segments that are sent again in half a slot where loss shows.
const FEW: f64 = 2.0;
/// Round trip of a path with a queue, as a multiple of its least one.
const QUEUED: f64 = 1.5;

#[cfg(test)]
mod tests {
    use measurement::plan::PlanDraft;
    use measurement::{Certainty, RuleId, Verdict};

    use super::*;
    use crate::test_record;

    /// A test whose rate falls by `follows` of what a hand changes, and whose round trips have a
    /// queue that goes in slots that are paced, if it `has_queue`.
    fn asked(follows: impl Fn(Hand) -> f64, has_queue: bool) -> TestRecord {
        policed(follows, has_queue, |_| 0)
    }

    /// A test as of [`asked`], with segments that are sent again in each half of a slot with a hand.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of bytes"
    )]
    fn policed(
        follows: impl Fn(Hand) -> f64,
        has_queue: bool,
        again: impl Fn(Option<Hand>) -> u64,
    ) -> TestRecord {
        let mut record = test_record::tcp();
        let experiment = Experiment::new(SLOT, &Hand::ALL, TIMES, |below| below - 1);
        let slots = experiment.length().as_nanos() / SLOT.as_nanos();
        let hand = |slot: u32| experiment.hand_at(SLOT * slot);
        let sample = record.samples[0].clone();
        let (mut acknowledged, mut retransmits) = (0.0, 0);
        let mut samples = vec![sample.clone()];
        for half in 0..2 * u32::try_from(slots).expect("few") {
            let slot = half / 2;
            let part = hand(slot).map_or(1.0, |hand| 1.0 - (1.0 - hand.rest()) * follows(hand));
            acknowledged += 1e6 * part;
            retransmits += again(hand(slot));
            let mut sample = sample.clone();
            sample.at = record.samples[0].at.after(SLOT / 2 * (half + 1));
            let tcp = sample.streams[0].tcp.as_mut().expect("it is TCP");
            (tcp.acknowledged, tcp.retransmits) = (acknowledged as u64, retransmits);
            let waits = has_queue && hand(slot) != Some(Hand::Pacing);
            (tcp.rtt_micros, tcp.min_rtt_micros) = (if waits { 2_000 } else { 110 }, 100);
            samples.push(sample);
        }
        record.samples = samples;
        let mut draft = PlanDraft::clone(&record.plan);
        draft.experiment = Some(Box::new(experiment));
        record.plan = draft.check().expect("a plan");
        record
    }

    fn values(record: &TestRecord) -> Vec<(Hand, String)> {
        let all = elasticities(record).into_iter();
        all.map(|one| (one.hand, format!("{:.1}", one.value.abs()))).collect()
    }

    #[test]
    fn a_rate_follows_what_limits_it() {
        let (one, none) = (|| "1.0".to_owned(), || "0.0".to_owned());
        let sender = asked(|hand| f64::from(u8::from(hand == Hand::SenderCpu)), false);
        assert_eq!(
            values(&sender),
            [(Hand::SenderCpu, one()), (Hand::ReceiverCpu, none()), (Hand::Pacing, none())]
        );
        let path = asked(|_| 0.0, true);
        assert_eq!(
            values(&path),
            [(Hand::SenderCpu, none()), (Hand::ReceiverCpu, none()), (Hand::Pacing, one())]
        );
        assert!(elasticities(&path).iter().all(|one| one.slots == 6 && one.margin < 0.1));
        let loses = |paced| {
            policed(
                |_| 0.0,
                false,
                move |hand| match hand {
                    Some(Hand::Pacing) => paced,
                    _ => 10,
                },
            )
        };
        assert_eq!(values(&loses(0))[2].1, one(), "a policer drops what is above its rate");
        assert_eq!(values(&loses(8))[2].1, none(), "loss by chance stays as it is");
        assert_eq!(elasticities(&test_record::tcp()), [], "no experiment");
    }

    /// The verdict on a test with a full sender, after an experiment.
    fn verdict(asked: &TestRecord) -> Verdict {
        let mut record = test_record::tcp();
        test_record::occupy(&mut record, &measurement::Role::Here, 0.99);
        test_record::fill(test_record::host(&mut record, &measurement::Role::Here), 0.99);
        record.trials.elasticities = elasticities(asked);
        crate::judge(&record).verdict.expect("it is judged")
    }

    #[test]
    fn an_experiment_decides_between_a_cpu_and_the_path() {
        let path = verdict(&asked(|_| 0.0, true));
        assert_eq!(path.findings[0].rule, RuleId::PathRateLimit, "{path:?}");
        assert!(path.findings[1..].iter().all(|one| one.certainty == Certainty::Note), "{path:?}");
        let sender = verdict(&asked(|hand| f64::from(u8::from(hand == Hand::SenderCpu)), true));
        assert_eq!(sender.conclusion, Conclusion::Limited, "{sender:?}");
        assert_ne!(sender.findings[0].rule, RuleId::PathRateLimit, "{sender:?}");
    }

    #[test]
    fn only_what_is_open_is_asked() {
        let mut record = test_record::tcp();
        let hands = |record: &TestRecord| {
            let asked = experiment(record, |_| 0)?;
            let mut hands: Vec<_> = asked.uses().map(|(_, hand)| hand).collect();
            hands.dedup();
            Some(hands)
        };
        assert_eq!(hands(&record), None, "it was not judged");
        record.judgement = Some(crate::judge(&record));
        let all = hands(&record).expect("it is open");
        assert!(Hand::ALL.iter().all(|hand| all.contains(hand)), "{all:?}");
        record.peer.as_mut().expect("a peer").software = "iperf3".to_owned();
        assert!(!hands(&record).expect("open").contains(&Hand::ReceiverCpu));
        record.trials.elasticities = elasticities(&asked(|_| 0.0, true));
        assert_eq!(hands(&record), None, "it was asked");
    }
}
