//! The token of a workload's wait: of all who want to wake it, one does.
//!
//! ```text
//!   the workload     arm -> token n            stalls ....... runs again
//!   object           claim(n): true                            (wakes it)
//!   deadline         claim(n): false           too late
//!   another object   claim(n - 1): false       a wait of long ago
//! ```
//!
//! Each wait has a token of its own, so that what was meant for one wait never completes
//! another.

use crate::atomic::AtomicU64;
use crate::atomic::Ordering::{AcqRel, Relaxed, Release};

/// Whether a workload waits, and for what.
#[derive(Debug)]
pub(crate) struct Turnstile {
    word: AtomicU64,
}

/// One wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token(u64);

/// What may end a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ender {
    /// An object that knows the token.
    Object,
    /// A signal to the workload.
    Signal,
}

impl Default for Turnstile {
    fn default() -> Self {
        Self { word: AtomicU64::new(0) }
    }
}

impl Turnstile {
    /// Begins the next wait. Only the workload's own MPU does.
    pub(crate) fn arm(&self, ender: Ender) -> Token {
        let flags = if ender == Ender::Signal { ARMED | BY_SIGNAL } else { ARMED };
        let token = ((self.word.load(Relaxed) >> FLAG_BITS) + 1) << FLAG_BITS | flags;
        self.word.store(token, Release);
        Token(token)
    }

    /// Ends the wait of `token`; whether it was for the caller to end.
    pub(crate) fn claim(&self, token: Token) -> bool {
        let ended = token.0 & !FLAGS;
        self.word.compare_exchange(token.0, ended, AcqRel, Relaxed).is_ok()
    }

    /// The wait that goes on, if one does.
    pub(crate) fn waiting(&self) -> Option<Token> {
        Some(self.word.load(Relaxed)).filter(|word| word & ARMED != 0).map(Token)
    }

    /// The same if a signal may end it.
    pub(crate) fn waiting_for_signal(&self) -> Option<Token> {
        self.waiting().filter(|token| token.0 & BY_SIGNAL != 0)
    }
}

const FLAG_BITS: u32 = 2;
const FLAGS: u64 = ARMED | BY_SIGNAL;
const ARMED: u64 = 1;
const BY_SIGNAL: u64 = 2;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_once_and_an_old_token_ends_nothing() {
        let turnstile = Turnstile::default();
        let first = turnstile.arm(Ender::Object);
        assert_eq!(turnstile.waiting(), Some(first));
        assert!(turnstile.claim(first) && !turnstile.claim(first));
        let second = turnstile.arm(Ender::Signal);
        assert!(!turnstile.claim(first));
        assert_eq!(turnstile.waiting_for_signal(), Some(second));
        assert!(turnstile.claim(second));
        assert_eq!(turnstile.waiting(), None);
    }
}
