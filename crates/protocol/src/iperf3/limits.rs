//! The rate and the time that a server allows a test (clause 13.21).

use std::time::Duration;

use measurement::plan::PlanDraft;
use measurement::{BitRate, End, TestPlan};
use serde::{Deserialize, Serialize};

/// Limits of one test, which a server states before the streams are opened. Both ends then run the
/// plan within them (clause 13.21 of docs/protocol/iperf3.md).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestLimits {
    /// Highest rate of all streams together, both directions, in bit/s; none: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bits_per_second: Option<u64>,
    /// Longest duration, including the omitted start, in milliseconds; none: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub milliseconds: Option<u64>,
}

impl TestLimits {
    /// Limits of the `rate` of all streams together, and of the `time` including the omitted start.
    pub fn new(rate: Option<BitRate>, time: Option<Duration>) -> Self {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Self { bits_per_second: rate.map(BitRate::bits_per_second), milliseconds: time.map(millis) }
    }

    /// Whether there is no limit.
    pub const fn is_none(&self) -> bool {
        self.bits_per_second.is_none() && self.milliseconds.is_none()
    }

    /// A peer's limits that are safe to use: none is zero.
    pub(super) fn plain(self) -> Self {
        Self {
            bits_per_second: self.bits_per_second.map(|rate| rate.max(1)),
            milliseconds: self.milliseconds.map(|time| time.max(1)),
        }
    }

    /// The plan within the limits: each stream has its part of the rate, and the time after the
    /// omitted start is shortened. An exchange has no rate, and an end by bytes or blocks no time,
    /// that could be changed. A plan that would not be valid is left as it is.
    #[must_use]
    pub fn applied(&self, plan: &TestPlan) -> TestPlan {
        let mut draft = PlanDraft::clone(plan);
        if let Some(most) = self.bits_per_second.filter(|_| plan.exchange.is_none()) {
            let each = (most / u64::from(plan.streams_in_all().max(1))).max(1);
            let each = BitRate::from_bits_per_second(each);
            let options = &mut draft.options;
            options.rate = Some(options.rate.map_or(each, |rate| rate.min(each)));
            options.socket_rate = options.socket_rate.map(|rate| rate.min(each));
        }
        if let (Some(most), End::Time(time)) = (self.milliseconds, plan.end) {
            let left = Duration::from_millis(most).saturating_sub(plan.omit);
            if !left.is_zero() {
                draft.end = End::Time(time.min(left));
            }
        }
        draft.check().unwrap_or_else(|_| plan.clone())
    }
}

#[cfg(test)]
mod tests {
    use measurement::{Direction, Transport};

    use super::*;

    fn plan(change: impl FnOnce(&mut PlanDraft)) -> TestPlan {
        let mut draft = PlanDraft::new(Transport::Tcp, Direction::Both);
        draft.end = End::Time(Duration::from_secs(10));
        change(&mut draft);
        draft.check().expect("a plan")
    }

    fn limits(rate: u64, seconds: u64) -> TestLimits {
        let rate = Some(BitRate::from_bits_per_second(rate));
        TestLimits::new(rate, Some(Duration::from_secs(seconds)))
    }

    #[test]
    fn each_stream_has_its_part_of_the_rate_and_the_omitted_start_its_part_of_the_time() {
        let asked = plan(|draft| {
            draft.streams = 2;
            draft.omit = Duration::from_secs(1);
        });
        let run = limits(8_000_000, 5).applied(&asked);
        assert_eq!(run.options.rate, Some(BitRate::from_bits_per_second(2_000_000)), "of four");
        assert_eq!(run.end, End::Time(Duration::from_secs(4)));
    }

    #[test]
    fn a_plan_within_the_limits_is_left_as_it_is() {
        let asked = plan(|draft| {
            draft.options.rate = Some(BitRate::from_bits_per_second(1_000));
            draft.end = End::Time(Duration::from_secs(2));
        });
        assert_eq!(limits(8_000_000, 5).applied(&asked), asked);
        assert_eq!(TestLimits::default().applied(&asked), asked);
        assert!(TestLimits::default().is_none() && !limits(1, 1).is_none());
    }

    #[test]
    fn limits_that_no_test_could_keep_do_no_harm() {
        let asked = plan(|draft| draft.omit = Duration::from_secs(9));
        let run = limits(1, 5).applied(&asked);
        assert_eq!(run.end, asked.end, "the server refuses it");
        assert_eq!(run.options.rate, Some(BitRate::from_bits_per_second(1)));
        let zero = TestLimits { bits_per_second: Some(0), milliseconds: Some(0) }.plain();
        assert_eq!(zero, TestLimits { bits_per_second: Some(1), milliseconds: Some(1) });
    }
}
