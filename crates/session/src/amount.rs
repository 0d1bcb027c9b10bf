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

    /// The omitted start has ended.
    pub(crate) fn begin(&self) {
        self.budget.iter().for_each(|budget| budget.begin());
        self.goal.iter().for_each(|goal| goal.begin());
    }
}
