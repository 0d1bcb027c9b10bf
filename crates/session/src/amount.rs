//! What a test that ends by an amount is to send and to receive.

use std::sync::Arc;

use dataplane::{Budget, Goal};
use measurement::{End, TestPlan, Transport};

use crate::error::SessionError;

/// What the senders of this end may send in all: bytes, or datagrams for UDP.
pub(crate) fn send_budget(plan: &TestPlan, block: u64) -> Option<Arc<Budget>> {
    let units = match (plan.end, plan.transport) {
        (End::Time(_), _) => return None,
        (End::Bytes(size), Transport::Tcp) => size.bytes(),
        (End::Bytes(size), Transport::Udp) => size.bytes().div_ceil(block),
        (End::Blocks(count), Transport::Tcp) => count.saturating_mul(block),
        (End::Blocks(count), Transport::Udp) => count,
    };
    Some(Arc::new(Budget::new(units)))
}

/// What the client is to receive, in bytes.
pub(crate) fn receive_goal(plan: &TestPlan, block: u64) -> Result<Option<Arc<Goal>>, SessionError> {
    let bytes = match plan.end {
        _ if !plan.direction.receives() => return Ok(None),
        End::Time(_) => return Ok(None),
        End::Bytes(size) => size.bytes(),
        End::Blocks(count) => count.saturating_mul(block),
    };
    let goal = Goal::new(bytes).map_err(SessionError::system("an eventfd"))?;
    Ok(Some(Arc::new(goal)))
}
