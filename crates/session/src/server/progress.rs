//! Whether a test that runs moves anything at all.

use std::time::Duration;

use measurement::{BitRate, Timestamp};

use crate::spec::RunSpec;
use crate::trial::Trial;

/// A client may be there and yet do nothing: stopped, or wedged. The kernel then keeps
/// its connections alive, so that only the payload shows it.
pub(crate) struct Progress {
    patience: Duration,
    /// Bytes moved and acknowledged when that last changed.
    seen: u64,
    since: Option<Timestamp>,
    next_look: Timestamp,
}

impl Progress {
    /// A test stalls after `patience` beside the time that a few of its blocks take at the
    /// rate that was asked.
    pub(crate) fn new(patience: Duration, spec: &RunSpec) -> Self {
        let options = &spec.plan.options;
        let rate = [options.rate, options.socket_rate].into_iter().flatten().min();
        let rate = rate.map_or(0, BitRate::bits_per_second);
        let bits = BLOCKS.saturating_mul(8).saturating_mul(spec.block.bytes());
        let pause = bits.checked_div(rate).map_or(Duration::ZERO, Duration::from_secs);
        Self {
            patience: patience + pause.min(LONGEST_PAUSE),
            seen: 0,
            since: None,
            next_look: Timestamp::default(),
        }
    }

    /// When to look next.
    pub(crate) const fn next_look(&self) -> Timestamp {
        self.next_look
    }

    /// Whether `trial` has stalled.
    pub(crate) fn is_stalled(&mut self, now: Timestamp, trial: &Trial) -> bool {
        if now < self.next_look {
            return false;
        }
        self.next_look = now.after(LOOK_EVERY.max(trial.pause()));
        self.is_late(now, trial.moved_and_acknowledged())
    }

    fn is_late(&mut self, now: Timestamp, seen: u64) -> bool {
        let since = self.since.filter(|_| seen == self.seen);
        self.seen = seen;
        now.since(*self.since.insert(since.unwrap_or(now))) >= self.patience
    }
}

/// Blocks that may be on their way.
const BLOCKS: u64 = 3;
const LONGEST_PAUSE: Duration = Duration::from_secs(110);
const LOOK_EVERY: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use dataplane::SequenceWidth;
    use measurement::plan::PlanDraft;
    use measurement::{ByteSize, Direction, Transport};

    use super::*;

    fn progress(rate: Option<u64>) -> Progress {
        let mut draft = PlanDraft::new(Transport::Tcp, Direction::Send);
        draft.options.rate = rate.map(BitRate::from_bits_per_second);
        let plan = draft.check().expect("a plan");
        let (block, header) = (ByteSize::from_bytes(1_000), SequenceWidth::Bits64.into());
        Progress::new(Duration::from_secs(10), &RunSpec { plan, block, header })
    }

    #[test]
    fn a_test_stalls_when_nothing_has_changed_for_long() {
        let mut progress = progress(None);
        let at = |seconds| Timestamp::from_nanos(1).after(Duration::from_secs(seconds));
        assert!(!progress.is_late(at(0), 0));
        assert!(!progress.is_late(at(9), 0));
        assert!(!progress.is_late(at(11), 1));
        assert!(!progress.is_late(at(20), 1));
        assert!(progress.is_late(at(21), 1));
    }

    #[test]
    fn slow_tests_are_given_the_time_of_their_blocks() {
        assert_eq!(progress(Some(1_000)).patience, Duration::from_secs(34));
        assert_eq!(progress(Some(1)).patience, Duration::from_secs(120));
        assert_eq!(progress(Some(1_000_000)).patience, Duration::from_secs(10));
    }
}
