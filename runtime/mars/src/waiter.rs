//! A workload that waits for an object, as the object stores it.

use std::sync::atomic::Ordering::Relaxed;

use crate::shared::Shared;
use crate::table::state;
use crate::wait_token::Token;

/// One wait of one workload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiter {
    pub(crate) id: u32,
    pub(crate) token: Token,
}

impl Waiter {
    /// Ends the wait and hands over `wake_value`. False if the workload has stopped waiting
    /// or will not run again: the value may then go to another one.
    pub(crate) fn wake(self, shared: &Shared, wake_value: u64) -> bool {
        let is_ours = self.claim(shared, wake_value);
        if is_ours {
            shared.deliver(self.id);
        }
        is_ours && shared.table.record(self.id).state.load(Relaxed) & state::UNSCHEDULED == 0
    }

    /// Ends the wait and hands over `wake_value`, but does not deliver the workload to its
    /// MPU. False if the workload has stopped waiting.
    pub(crate) fn claim(self, shared: &Shared, wake_value: u64) -> bool {
        let record = shared.table.record(self.id);
        let is_ours = record.wait_token.claim(self.token);
        if is_ours {
            record.wake_value.store(wake_value | PRESENT, Relaxed);
        }
        is_ours
    }
}

/// Opaque part of a [`Wait`](crate::Wait) for a synchronisation object, e.g. a
/// [`Barrier`](crate::Barrier): the object has recorded it and will end the wait.
#[derive(Debug)]
pub struct Ticket(Token);

impl Ticket {
    pub(crate) const fn new(waiter: Waiter) -> Self {
        Self(waiter.token)
    }

    /// The token of the recorded wait.
    pub(crate) const fn token(&self) -> Token {
        self.0
    }
}

/// Marks that a wake value is present; the value itself may be zero.
pub(crate) const PRESENT: u64 = 1 << 63;
