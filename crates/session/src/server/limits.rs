//! What a client may ask of a server.

use std::collections::VecDeque;
use std::time::Duration;

use measurement::{BitRate, End, Timestamp};
use protocol::iperf3::{ErrorCode, Parameters};

/// How much of the server one test may take.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Longest test, its omitted start included.
    pub duration: Option<Duration>,
    /// Highest rate of all streams together, both directions.
    pub rate: Option<RateLimit>,
}

/// A rate that no test may exceed for long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// The most.
    pub most: BitRate,
    /// Time over which the rate is averaged.
    pub window: Duration,
}

impl Limits {
    /// Why a test is refused; none: it is not (clause 6.6).
    pub(super) fn refusal(&self, parameters: &Parameters) -> Option<ErrorCode> {
        let plan = &parameters.plan;
        let too_long = self.duration.is_some_and(|longest| match plan.end {
            End::Time(time) => plan.omit + time > longest,
            End::Bytes(_) | End::Blocks(_) | End::Open => true,
        });
        if too_long {
            return Some(ErrorCode::SERVER_DURATION);
        }
        let streams = u64::from(plan.sending_streams() + plan.receiving_streams());
        let asked = [plan.options.rate, plan.options.socket_rate].into_iter().flatten();
        let too_fast = self.rate.is_some_and(|limit| {
            asked.map(|rate| rate.times(streams)).any(|rate| rate > limit.most)
        });
        too_fast.then_some(ErrorCode::TOTAL_RATE)
    }
}

/// Compares what a test moves with its limit.
pub(super) struct RateWatch {
    limit: RateLimit,
    /// When how many bytes had moved, a window's worth.
    marks: VecDeque<(Timestamp, u64)>,
}

impl RateWatch {
    pub(super) const fn new(limit: RateLimit) -> Self {
        Self { limit, marks: VecDeque::new() }
    }

    /// When to look next.
    pub(super) fn next_look(&self) -> Option<Timestamp> {
        self.marks.back().map(|(at, _)| at.after(self.limit.window / STEPS))
    }

    /// Takes note that `bytes` have moved; whether that was too fast.
    pub(super) fn is_exceeded(&mut self, now: Timestamp, bytes: u64) -> bool {
        if self.next_look().is_some_and(|next| now < next) {
            return false;
        }
        self.marks.push_back((now, bytes));
        let window = |mark: &(Timestamp, u64)| now.since(mark.0) >= self.limit.window;
        while self.marks.get(1).is_some_and(window) {
            self.marks.pop_front();
        }
        let Some(first) = self.marks.front().copied().filter(|first| window(first)) else {
            return false;
        };
        BitRate::of(bytes - first.1, now.since(first.0)) > self.limit.most
    }
}

/// Looks within one window.
const STEPS: u32 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(1_000_000_000 + millis * 1_000_000)
    }

    #[test]
    fn a_rate_is_judged_over_its_window_only() {
        let most = BitRate::from_bits_per_second(8_000);
        let mut watch = RateWatch::new(RateLimit { most, window: Duration::from_secs(1) });
        // A burst at first, and then 1000 bytes a second.
        assert!(!watch.is_exceeded(at(0), 0));
        assert!(!watch.is_exceeded(at(200), 900));
        assert!(!watch.is_exceeded(at(1_000), 1_000));
        assert!(!watch.is_exceeded(at(2_000), 2_000));
        assert!(watch.is_exceeded(at(3_000), 3_100));
    }
}
