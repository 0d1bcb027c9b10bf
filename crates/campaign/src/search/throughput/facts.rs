//! What the record of a test tells of a trial of a search.

use std::time::Duration;

use measurement::{
    BitRate, DirectionOutcome, Pulse, RuleId, SearchTrial, Stamp, TestRecord, TrialPurpose,
};

use super::delay;

/// A trial by its judged record; none: what was sent, or what arrived, is not known.
pub(super) fn of(
    record: &TestRecord,
    purpose: TrialPurpose,
    took: Duration,
) -> Option<SearchTrial> {
    let outcome = record.outcome.directions.first()?;
    let (offered, delivered) = (outcome.offered?, outcome.delivered?);
    let judgement = record.judgement.as_ref();
    let reasons = judgement.into_iter().flat_map(|judgement| &judgement.reasons);
    let delay = delay::of_the_last(record, outcome);
    let doubts = reasons.filter(|reason| reason.stamp > Stamp::Valid);
    Some(SearchTrial {
        purpose,
        intended: record.plan.asked()?,
        offered: offered.rate,
        delivered: BitRate::average(delivered.bytes, offered.span + delay),
        sustained: sustained(record, outcome, delivered.span),
        duration: offered.span,
        took,
        datagrams: outcome.datagrams.map(|ledger| ledger.sent),
        lost_ratio: outcome.datagrams.map_or(0.0, |ledger| ledger.loss()),
        delay,
        stamp: judgement.map(|judgement| judgement.stamp).unwrap_or_default(),
        disturbed: doubts.filter(|reason| !OF_THE_LOAD.contains(&reason.rule)).count() > 0,
    })
}

/// The rate at which the payload arrived in the second half, by the receiver's pulses; none: there
/// are too few, or it did not arrive more slowly in the end.
fn sustained(record: &TestRecord, outcome: &DirectionOutcome, lasts: Duration) -> Option<BitRate> {
    let pulses = record.pulses.iter().chain(&record.reported.pulses);
    let pulse = pulses.into_iter().find(|pulse| !pulse.sender && !pulse.bytes.is_empty())?;
    let rate = second_half(pulse, lasts)?;
    let delivered = outcome.delivered?.rate;
    (rate < delivered).then_some(rate)
}

fn second_half(pulse: &Pulse, lasts: Duration) -> Option<BitRate> {
    let whole = usize::try_from(lasts.as_nanos().checked_div(pulse.every.as_nanos())?).ok()?;
    // The last one may have been cut off.
    let whole = pulse.bytes.len().min(whole).saturating_sub(1);
    if whole < FEWEST {
        return None;
    }
    let half = &pulse.bytes[whole / 2..whole];
    let span = pulse.every * u32::try_from(half.len()).ok()?;
    Some(BitRate::average(half.iter().sum(), span))
}

/// Doubts that come with the load: a sender, or a host, that is at its limit.
const OF_THE_LOAD: [RuleId; 3] =
    [RuleId::SenderBelowRate, RuleId::WorkerSaturated, RuleId::CgroupCpuQuota];
/// Intervals, of which the second half tells a rate.
const FEWEST: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(bytes: &[u64], millis: u64) -> Option<u64> {
        let every = Duration::from_millis(100);
        let pulse = Pulse { sender: false, every, bytes: bytes.to_vec() };
        second_half(&pulse, Duration::from_millis(millis)).map(BitRate::bits_per_second)
    }

    #[test]
    fn the_second_half_tells_what_remains_without_a_token_bucket() {
        assert_eq!(rate(&[900, 200, 100, 100, 100, 100, 100, 100], 810), Some(8_000));
        // What arrives late is no whole interval.
        assert_eq!(rate(&[900, 200, 100, 100, 100, 100, 100, 9, 0, 0], 790), Some(8_000));
        assert_eq!(rate(&[900, 100, 100, 100], 400), None);
        assert_eq!(rate(&[], 1_000), None);
    }
}
