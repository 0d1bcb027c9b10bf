//! What a test that ends by an amount is to send and to receive.

use std::io;
use std::sync::Arc;

use dataplane::{Budget, Goal};
use measurement::{End, TestPlan, Transport};

use crate::measured::Side;

/// Shared by all streams of a test; empty if it ends by time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Amount {
    /// For the senders of this end: bytes, or datagrams for UDP.
    pub(crate) budget: Option<Arc<Budget>>,
    /// For the receivers of the client, in bytes: it decides the end (clause 9.4).
    pub(crate) goal: Option<Arc<Goal>>,
}

impl Amount {
    /// The amount of `plan` in blocks of `block` bytes. After an omitted start it
    /// counts from [`Self::begin`] on (clause 9.5).
    ///
    /// To a plain iperf3 only `whole_blocks` are sent: it reads such, and waits for the
    /// rest of one for ever (clause 10.2).
    pub(crate) fn new(
        plan: &TestPlan,
        block: u64,
        side: Side,
        whole_blocks: bool,
    ) -> io::Result<Self> {
        let (bytes, datagrams) = match plan.end {
            End::Time(_) | End::Open => return Ok(Self::default()),
            End::Bytes(asked) => (asked.bytes(), asked.bytes().div_ceil(block)),
            End::Blocks(count) => (count.saturating_mul(block), count),
        };
        let units = match plan.transport {
            Transport::Tcp if whole_blocks => datagrams.saturating_mul(block),
            Transport::Tcp => bytes,
            Transport::Udp => datagrams,
        };
        let receives = side == Side::Client && plan.direction.receives();
        let (budget, goal) = if plan.omit.is_zero() {
            (Budget::new(units), receives.then(|| Goal::new(bytes)))
        } else {
            (Budget::deferred(units), receives.then(|| Goal::deferred(bytes)))
        };
        Ok(Self { budget: Some(Arc::new(budget)), goal: goal.transpose()?.map(Arc::new) })
    }

    /// The omitted start is over: no stream begins to send until [`Self::begin`].
    pub(crate) fn hold(&self) {
        self.budget.iter().for_each(|budget| budget.hold());
    }

    /// The omitted start was counted: the amount follows the units that had been sent and the bytes
    /// that had been received then.
    pub(crate) fn begin(&self, sent: u64, received: u64) {
        self.budget.iter().for_each(|budget| budget.begin(sent));
        self.goal.iter().for_each(|goal| goal.begin(received));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use measurement::plan::PlanDraft;
    use measurement::{ByteSize, Direction};

    use super::*;

    fn draft(transport: Transport, direction: Direction, end: End) -> PlanDraft {
        PlanDraft { end, ..PlanDraft::new(transport, direction) }
    }

    /// How many units may be sent of `end` in blocks of 1,000 bytes.
    fn units(transport: Transport, end: End, whole_blocks: bool) -> u64 {
        let plan = draft(transport, Direction::Send, end).check().expect("a plan");
        let amount = Amount::new(&plan, 1_000, Side::Client, whole_blocks).expect("an eventfd");
        let budget = amount.budget.expect("an amount was asked");
        let mut units = 0;
        while units < 100_000 {
            let taken = budget.take(1).expect("not on hold");
            if taken == 0 {
                break;
            }
            units += taken;
        }
        units
    }

    #[test]
    fn bytes_are_sent_as_asked_and_in_whole_blocks_to_an_iperf3() {
        let bytes = End::Bytes(ByteSize::from_bytes(2_500));
        assert_eq!(units(Transport::Tcp, bytes, false), 2_500);
        assert_eq!(units(Transport::Tcp, bytes, true), 3_000);
        assert_eq!(units(Transport::Udp, bytes, false), 3, "datagrams");
        assert_eq!(units(Transport::Tcp, End::Blocks(2), false), 2_000);
    }

    #[test]
    fn only_a_client_that_receives_has_a_goal() {
        let goal = |direction, side| {
            let end = End::Bytes(ByteSize::from_bytes(2_500));
            let plan = draft(Transport::Tcp, direction, end).check().expect("a plan");
            Amount::new(&plan, 1_000, side, false).expect("an eventfd").goal.is_some()
        };
        assert!(goal(Direction::Receive, Side::Client) && goal(Direction::Both, Side::Client));
        assert!(!goal(Direction::Send, Side::Client));
        assert!(!goal(Direction::Both, Side::Server), "the client decides the end");
    }

    #[test]
    fn a_test_that_ends_by_time_has_no_amount() {
        for end in [End::Time(Duration::from_secs(1)), End::Open] {
            let plan = draft(Transport::Tcp, Direction::Both, end).check().expect("a plan");
            let amount = Amount::new(&plan, 1_000, Side::Client, false).expect("an eventfd");
            assert!(amount.budget.is_none() && amount.goal.is_none());
        }
    }
}
