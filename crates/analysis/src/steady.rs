//! When the rate was steady: the longest stretch of the test in which it did not change.

use std::ops::Range;
use std::time::Duration;

use measurement::{BitRate, Direction, Order, Pulse, Role, Steady, TestRecord};

use crate::evidence::receiver;

mod changes;

/// The steady part of a direction; none: nobody tells, or it was too short to tell.
pub(crate) fn steady_part(record: &TestRecord, direction: Direction) -> Option<Steady> {
    let pulse = pulse(record, direction)?;
    let counted = counted(record, pulse)?;
    let bytes = pulse.bytes.get(counted.clone())?;
    let steady = longest(bytes, grain(record))?;
    let rate = |steps: &[u64]| {
        let bytes = steps.iter().copied().fold(0, u64::saturating_add);
        BitRate::average(bytes, every(pulse, steps.len()))
    };
    Some(Steady {
        from: every(pulse, counted.start + steady.start),
        to: every(pulse, counted.start + steady.end),
        rate: rate(&bytes[steady]),
        whole: rate(bytes),
    })
}

/// By how much a step differs from the median one, as a share of it: three of four steps differ by no
/// more. None: nobody tells.
fn spread(record: &TestRecord, direction: Direction) -> Option<f64> {
    let pulse = pulse(record, direction)?;
    let bytes = pulse.bytes.get(counted(record, pulse)?)?;
    let sorted = |mut values: Vec<u64>| {
        values.order();
        values
    };
    let median = *sorted(bytes.to_vec()).get(bytes.len() / 2)?;
    let differences = bytes.iter().map(|bytes| bytes.abs_diff(median)).collect();
    let difference = *sorted(differences).get(bytes.len() * 3 / 4)?;
    (median > 0).then(|| difference as f64 / median as f64)
}

/// Whether about as much moved in most steps of a direction.
pub(crate) fn is_even(record: &TestRecord, direction: Direction) -> bool {
    spread(record, direction).is_some_and(|spread| spread <= EVEN)
}

/// The receiver's if it told, else the sender's.
fn pulse(record: &TestRecord, direction: Direction) -> Option<&Pulse> {
    let (receivers, senders) = match receiver(direction) {
        Role::Here => (&record.pulses, &record.reported.pulses),
        _ => (&record.reported.pulses, &record.pulses),
    };
    let of = |pulses: &'_ [Pulse], sender| {
        pulses.iter().position(|pulse| pulse.sender == sender && !pulse.every.is_zero())
    };
    let received = of(receivers, false).and_then(|index| receivers.get(index));
    received.or_else(|| of(senders, true).and_then(|index| senders.get(index)))
}

/// Whole steps that count: without the omitted start, and what came after the end.
fn counted(record: &TestRecord, pulse: &Pulse) -> Option<Range<usize>> {
    let begin = record.samples.get(record.base)?.at.since(record.start?);
    let end = record.stopped?.since(record.start?);
    let step = pulse.every.as_nanos();
    let index = |nanos: u128| usize::try_from(nanos).unwrap_or(usize::MAX);
    let first = index(begin.as_nanos().div_ceil(step));
    let last = index(end.as_nanos() / step).min(pulse.bytes.len());
    (first < last).then_some(first..last)
}

/// What makes steps differ though the rate does not: whole blocks.
fn grain(record: &TestRecord) -> f64 {
    record.streams.first().map_or(0.0, |stream| stream.block.bytes() as f64)
}

fn every(pulse: &Pulse, steps: usize) -> Duration {
    pulse.every.saturating_mul(u32::try_from(steps).unwrap_or(u32::MAX))
}

/// The longest stretch of like steps, by their indices. Long tests are looked at in coarser
/// steps.
fn longest(bytes: &[u64], grain: f64) -> Option<Range<usize>> {
    let width = bytes.len().div_ceil(MOST_STEPS).max(1);
    let sums = bytes.chunks_exact(width);
    let values: Vec<_> =
        sums.map(|chunk| chunk.iter().map(|bytes| *bytes as f64).sum::<f64>()).collect();
    if values.len() < LEAST_STEPS {
        return None;
    }
    let longest =
        changes::stretches(&values, grain).into_iter().max_by_key(ExactSizeIterator::len)?;
    let is_last = longest.end == values.len();
    Some(longest.start * width..if is_last { bytes.len() } else { longest.end * width })
}

/// By how much a step differs from the median one, as a share of it, in three of four steps.
const EVEN: f64 = 0.04;
/// With fewer a change is not told from chance.
const LEAST_STEPS: usize = 8;
/// The search takes a time that grows with the square.
const MOST_STEPS: usize = 600;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_record;

    fn steady(bytes: Vec<u64>) -> Option<Steady> {
        let mut record = test_record::udp();
        let every = Duration::from_millis(100);
        record.reported.pulses = vec![Pulse { sender: false, every, bytes }];
        steady_part(&record, Direction::Send)
    }

    #[test]
    fn what_does_not_change_is_steady_from_begin_to_end() {
        let flat = steady(vec![1_250_000; 100]).expect("long enough");
        assert_eq!((flat.from, flat.to), (Duration::ZERO, Duration::from_secs(10)));
        assert_eq!(flat.rate, flat.whole);
        assert_eq!(flat.rate.bits_per_second(), 100_000_000);
    }

    #[test]
    fn a_ramp_at_the_begin_is_left_out() {
        let ramp = (0..20).map(|step| 50_000 * step);
        let found = steady(ramp.chain([1_250_000; 80]).collect()).expect("long enough");
        assert!((1_500..=2_100).contains(&found.from.as_millis()), "{found:?}");
        assert_eq!(found.to, Duration::from_secs(10));
        assert!(found.rate > found.whole, "{found:?}");
    }

    #[test]
    fn a_break_ends_it_and_a_sliver_is_none() {
        let found = steady([vec![1_000_000; 70], vec![400_000; 30]].concat()).expect("long");
        assert_eq!((found.from, found.to), (Duration::ZERO, Duration::from_secs(7)));
        let stall = [vec![1_000_000; 65], vec![0; 5], vec![1_000_000; 30]].concat();
        assert_eq!(steady(stall).expect("long").to, Duration::from_millis(6_500));
        // What comes after the sender stopped is no rate.
        let sliver = steady([vec![1_000_000; 100], vec![7_000]].concat()).expect("long");
        assert_eq!(sliver.to, Duration::from_secs(10));
        assert_eq!(sliver.rate.bits_per_second(), 80_000_000);
    }

    #[test]
    fn a_few_steps_do_not_tell() {
        assert_eq!(steady(vec![1_000; 7]), None);
        assert_eq!(steady(Vec::new()), None);
    }

    #[test]
    fn the_omitted_start_does_not_count_and_the_sender_tells_where_the_receiver_does_not() {
        let mut record = test_record::udp();
        record.base = 3;
        let every = Duration::from_millis(100);
        let bytes = [vec![10; 30], vec![1_000_000; 70]].concat();
        record.pulses = vec![Pulse { sender: true, every, bytes }];
        let found = steady_part(&record, Direction::Send).expect("long enough");
        assert_eq!((found.from, found.rate), (Duration::from_secs(3), found.whole));
    }

    #[test]
    fn a_day_is_looked_at_in_coarse_steps() {
        let day: Vec<_> = [vec![5_u64; 400_000], vec![9; 464_000]].concat();
        let found = longest(&day, 0.0).expect("long enough");
        assert!(found.start.abs_diff(400_000) < 3_000 && found.end == day.len(), "{found:?}");
    }
}
