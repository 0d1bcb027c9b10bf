//! Whether a test ends before its time, and why.

use std::time::Duration;

use measurement::Timestamp;

use super::Trial;

impl Trial {
    /// Whether no request is sent any more, since the peer has closed the connections.
    pub(crate) fn is_left(&self) -> bool {
        self.spec.plan.exchange.is_some() && self.pool.senders_finished()
    }

    /// Has no more requests sent over TCP connections that stay open. Returns, when it is called
    /// again, whether every one that was sent has its response: at first a worker may not know yet.
    pub(crate) fn conclude_exchange(&self) -> bool {
        let workers_know = self.factory.close_exchange();
        workers_know
            && self.pool.read().all(|(_, _, counters)| counters.sequence <= counters.blocks)
    }

    /// Why an amount that was asked will not move any more.
    pub(crate) fn breakdown(&self, now: Timestamp) -> Option<&'static str> {
        if !self.spec.plan.end.is_amount() {
            None
        } else if self.pool.is_stuck() {
            Some("a stream broke before all had moved")
        } else if now >= self.moved_last()?.after(IDLE) {
            Some("nothing moved for two minutes")
        } else {
            None
        }
    }
}

/// After so long without a byte a test is dead.
pub(super) const IDLE: Duration = Duration::from_secs(120);
