//! A workload that waits for an object, as the object knows it.

use std::sync::atomic::Ordering::Relaxed;

use crate::shared::Shared;
use crate::table::state;
use crate::turnstile::Token;

/// One wait of one workload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiter {
    pub(crate) id: u32,
    pub(crate) token: Token,
}

impl Waiter {
    /// Ends the wait and hands `gift` over; false: the workload waits no more, or will not
    /// run any more, and somebody else may have what was meant for it.
    pub(crate) fn wake(self, shared: &Shared, gift: u64) -> bool {
        let is_ours = self.claim(shared, gift);
        if is_ours {
            shared.deliver(self.id);
        }
        is_ours && shared.table.record(self.id).state.load(Relaxed) & state::UNSCHEDULED == 0
    }

    /// The same, but the workload goes on only when it is delivered.
    pub(crate) fn claim(self, shared: &Shared, gift: u64) -> bool {
        let record = shared.table.record(self.id);
        let is_ours = record.turnstile.claim(self.token);
        if is_ours {
            record.gift.store(gift | GIVEN, Relaxed);
        }
        is_ours
    }
}

/// Proof that an object knows that a workload waits.
#[derive(Debug)]
pub struct Ticket(Token);

impl Ticket {
    pub(crate) const fn of(waiter: Waiter) -> Self {
        Self(waiter.token)
    }

    /// The wait that the object knows of.
    pub(crate) const fn token(&self) -> Token {
        self.0
    }
}

/// Marks a gift, which may be zero.
pub(crate) const GIVEN: u64 = 1 << 63;
