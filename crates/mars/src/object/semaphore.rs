//! A number of tokens that workloads take and give back.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use crate::bell::Bell;
use crate::context::Workloads;
use crate::mpu::Mpu;
use crate::object::Line;
use crate::workload::Wait;

/// A counting semaphore. A token that is given back goes to the workload that has waited
/// longest, and nobody overtakes it.
#[derive(Debug)]
pub struct Semaphore {
    tokens: AtomicU32,
    line: Line,
    bell: Bell,
}

impl Semaphore {
    /// A semaphore of `tokens` for the workloads of one context.
    pub fn new(workloads: &Workloads, tokens: u32) -> Self {
        let line = Line::new(&workloads.shared);
        Self { tokens: AtomicU32::new(tokens), line, bell: Bell::default() }
    }

    /// How many tokens are left.
    pub fn tokens(&self) -> u32 {
        self.tokens.load(SeqCst)
    }

    /// Takes a token; false: there is none, or others wait for one.
    pub fn try_acquire(&self) -> bool {
        self.line.is_empty() && self.take()
    }

    fn take(&self) -> bool {
        let one_less = |tokens: u32| tokens.checked_sub(1);
        self.tokens.fetch_update(SeqCst, SeqCst, one_less).is_ok()
    }

    /// Takes a token.
    ///
    /// # Errors
    /// The wait to stall for; the workload then asks again, and has it. One that does not
    /// ask again has lost it for all.
    pub fn acquire<M>(&self, mpu: &mut Mpu<'_, M>) -> Result<(), Wait> {
        if self.line.take_gift(mpu).is_some() || self.try_acquire() {
            return Ok(());
        }
        let mut door = self.line.open();
        if door.is_first() && self.take() { Ok(()) } else { Err(door.join(mpu, 0)) }
    }

    /// Takes a token for a host thread, within `span` (none: for ever); whether it did.
    pub fn acquire_on_host(&self, span: Option<Duration>) -> bool {
        self.bell.listen(span, || self.try_acquire().then_some(())).is_some()
    }

    /// Gives a token back.
    pub fn release(&self) {
        loop {
            if self.line.wake_one(0) {
                return;
            }
            self.tokens.fetch_add(1, SeqCst);
            // Somebody may have begun to wait before the token was back.
            if self.line.is_empty() || !self.take() {
                break;
            }
        }
        self.bell.ring();
    }
}
