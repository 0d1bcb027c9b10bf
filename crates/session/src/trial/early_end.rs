//! Whether a test ends before its time, and why.

use std::time::Duration;

use measurement::Timestamp;

use super::Trial;
use crate::clock::Clock;

impl Trial {
    /// Whether no request is sent any more, since the peer has closed the connections.
    pub(crate) fn is_left(&self) -> bool {
        self.spec.plan.exchange.is_some() && self.pool.senders_finished()
    }

    /// Ends what this end sends, if it does; what the peer sends goes on until [`Self::stop`]. The
    /// measurement ends here, or with what arrives later.
    pub(crate) fn end_sending(&mut self, clock: &dyn Clock) {
        if self.sending_ended.is_some() {
            return;
        }
        if self.sends() {
            self.pool.stop_sending();
            self.end_streams();
        }
        let has_ended_by_itself = !self.sends() && self.has_received_all();
        let ended = if has_ended_by_itself { self.last_arrival() } else { clock.now() };
        self.sending_ended = Some(ended.max(self.began().unwrap_or_default()));
    }

    /// Whether this end sends.
    pub(crate) fn sends(&self) -> bool {
        self.opened.iter().any(|one| one.sender)
    }

    /// Whether all has been sent that this end is to send in the test by `now`.
    pub(crate) fn has_sent_all(&self, now: Timestamp) -> bool {
        self.pool.senders_finished() || self.time_is_up_at().is_some_and(|end| now >= end)
    }

    /// Whether each stream on which this end receives has ended.
    pub(crate) fn has_received_all(&self) -> bool {
        self.pool.receivers_finished()
    }

    /// The error that ended a stream; none: none did.
    pub(crate) fn stream_error(&self) -> Option<std::io::Error> {
        self.pool.stream_error().map(|(_, error)| error)
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
