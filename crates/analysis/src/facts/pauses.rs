//! Pauses of an end that tells nothing, as this end sees them: it sleeps again and again, each
//! period of the CPU bandwidth control once, or for much longer.

use std::time::Duration;

use measurement::{Direction, DirectionOutcome, MpuUse, Role, TestRecord};

use super::run_delay;
use crate::evidence::Evidence;
use crate::words::share;

/// How often and for how long the other end stood still.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pauses {
    pub(crate) times: u64,
    /// One of them.
    pub(crate) each: Duration,
    /// Of the time of the result.
    pub(crate) share: f64,
}

/// The pauses of the other end once a period, as this end's workers saw them; none: there are none,
/// or they may be this host's, or those of the path.
pub(crate) fn of_the_other_end(test: &Evidence<'_>) -> Option<Pauses> {
    let record = test.record;
    let seconds = record.result_span()?.as_secs_f64();
    let (pauses, turns) = not_of_this_end(test)?;
    let is_each_period = PERIODS.contains(&(pauses.times as f64 / seconds));
    // A sender of few datagrams pauses between them.
    let is_busy = turns >= pauses.times.saturating_mul(TURNS);
    let found = is_each_period && is_busy && pauses.share >= LEAST && has_enough(record);
    found.then_some(pauses)
}

/// The few and long pauses of the other end, which sends, and of which this end lost nothing
/// meanwhile: its program stood still; none: there are none, or loss may be their cause.
pub(crate) fn standstills(test: &Evidence<'_>) -> Option<Pauses> {
    let [outcome] = test.record.outcome.directions.as_slice() else { return None };
    if outcome.direction != Direction::Receive || loses(test.record, outcome) {
        return None;
    }
    let (pauses, turns) = not_of_this_end(test)?;
    let is_busy = turns >= pauses.times.saturating_mul(MANY_TURNS);
    let found = is_busy && pauses.each >= LONG && pauses.share >= LEAST_STANDING;
    found.then_some(pauses)
}

/// Whether a sender may have waited for what it sent again, or datagrams were lost on their way.
fn loses(record: &TestRecord, outcome: &DirectionOutcome) -> bool {
    let lost = outcome.datagrams.map_or(0, |all| all.lost);
    let arrived = outcome.delivered.or(outcome.acknowledged).map_or(0, |got| got.bytes);
    let mss = record.streams.iter().filter_map(|stream| stream.mss).min().unwrap_or(USUAL_MSS);
    let again = outcome.retransmits.unwrap_or(0).saturating_mul(mss.into());
    lost > 0 || share(again, arrived) >= MUCH
}

/// The pauses that this end did not make itself, nor long round trips, and how often its worker ran.
fn not_of_this_end(test: &Evidence<'_>) -> Option<(Pauses, u64)> {
    let record = test.record;
    let is_own = |share: f64| share >= OWN;
    let here = test.hosts.iter().find(|host| *host.role() == Role::Here);
    if here.and_then(|host| run_delay::share(test, host)).is_some_and(is_own) || is_far(record) {
        return None;
    }
    let seconds = record.result_span()?.as_secs_f64();
    let workers = record.runtime.as_ref()?.mpus.iter().filter(|worker| worker.streams > 0);
    let worker = workers.max_by_key(|worker| worker.pauses)?;
    Some((of_worker(worker, seconds)?, worker.turns))
}

fn of_worker(worker: &MpuUse, seconds: f64) -> Option<Pauses> {
    let each = worker.pause_seconds / (worker.pauses as f64);
    let each = Duration::try_from_secs_f64(each).ok()?;
    let share = (worker.pause_seconds / seconds).min(1.0);
    Some(Pauses { times: worker.pauses, each, share })
}

/// Whether round trips are so long that a window makes a pause in each.
fn is_far(record: &TestRecord) -> bool {
    let streams = record.samples.last().map_or(&[][..], |sample| sample.streams.as_slice());
    let seen = streams.iter().filter_map(|one| one.tcp).map(|tcp| tcp.min_rtt_micros);
    let least = seen.filter(|micros| *micros > 0).min();
    least.is_some_and(|micros| micros >= FAR_MICROS)
}

/// Whether it ran for several periods.
fn has_enough(record: &TestRecord) -> bool {
    record.result_span().is_some_and(|span| span >= SEVERAL)
}

/// Pauses a second: the period is 100 ms (`cpu.max`, cgroups(7)) unless somebody changes it.
const PERIODS: std::ops::RangeInclusive<f64> = 8.5..=10.6;
/// Times that a worker runs, for each pause.
const TURNS: u64 = 20;
/// As [`TURNS`], for a pause in which a test that works runs very often.
const MANY_TURNS: u64 = 200;
/// Share of the time.
const LEAST: f64 = 0.10;
/// As [`LEAST`], of few that are long.
const LEAST_STANDING: f64 = 0.08;
/// Longer than the pauses of a quota, in the mean.
const LONG: Duration = Duration::from_millis(100);
/// Share of the segments that were sent again from which on a time-out may be a pause.
const MUCH: f64 = 0.000_5;
/// Where a stream does not tell: that of Ethernet.
const USUAL_MSS: u32 = 1_448;
/// Share of the time for which this end waited for its own CPUs.
const OWN: f64 = 0.05;
const FAR_MICROS: u32 = 8_000;
const SEVERAL: Duration = Duration::from_millis(900);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_record;

    #[test]
    fn only_pauses_of_each_period_tell() {
        let found = |pauses, seconds| {
            let mut record = test_record::tcp();
            let worker = &mut record.runtime.as_mut().expect("it tells").mpus[0];
            (worker.pauses, worker.pause_seconds, worker.turns) = (pauses, seconds, 90_000);
            of_the_other_end(&Evidence::from_record(&record)).is_some()
        };
        assert!(found(99, 7.1));
        assert!(!found(99, 0.5), "they cost little");
        assert!(!found(10, 1.0), "once a second");
        assert!(!found(270, 7.1), "each round trip");
    }

    #[test]
    fn a_sender_that_stood_still_lost_nothing() {
        let found = |pauses, seconds, again| {
            let mut record = test_record::tcp();
            record.outcome.directions.truncate(1);
            record.outcome.directions[0].direction = Direction::Receive;
            record.outcome.directions[0].retransmits = Some(again);
            let worker = &mut record.runtime.as_mut().expect("it tells").mpus[0];
            (worker.pauses, worker.pause_seconds, worker.turns) = (pauses, seconds, 90_000);
            standstills(&Evidence::from_record(&record)).is_some()
        };
        assert!(found(10, 3.2, 3));
        assert!(!found(10, 0.9, 3), "short");
        assert!(!found(1, 0.3, 3), "once");
        assert!(!found(10, 3.2, 900_000), "lost");
    }
}
