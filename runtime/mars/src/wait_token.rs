//! The token of a workload's current wait: of all that try to end the wait, exactly one
//! does.
//!
//! ```text
//!   the workload     arm -> token n            stalls ....... runs again
//!   object           claim(n): true                            (wakes it)
//!   deadline         claim(n): false           too late
//!   another object   claim(n - 1): false       an earlier wait
//! ```
//!
//! Each wait has a new token, so that an event for one wait never ends another.

use crate::atomic::AtomicU64;
use crate::atomic::Ordering::{AcqRel, Relaxed, Release};

/// Whether a workload waits, and what may end the wait.
#[derive(Debug)]
pub(crate) struct WaitToken {
    word: AtomicU64,
}

/// The token of one wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token(u64);

/// What may end a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ender {
    /// An object that holds the token.
    Object,
    /// A signal to the workload.
    Signal,
}

impl Default for WaitToken {
    fn default() -> Self {
        Self { word: AtomicU64::new(0) }
    }
}

impl WaitToken {
    /// Begins the next wait. Only the workload's own MPU calls this.
    pub(crate) fn arm(&self, ender: Ender) -> Token {
        let flags = if ender == Ender::Signal { ARMED | BY_SIGNAL } else { ARMED };
        let token = ((self.word.load(Relaxed) >> FLAG_BITS) + 1) << FLAG_BITS | flags;
        self.word.store(token, Release);
        Token(token)
    }

    /// Ends the wait of `token`. False if another caller has ended it.
    pub(crate) fn claim(&self, token: Token) -> bool {
        let ended = token.0 & !FLAGS;
        self.word.compare_exchange(token.0, ended, AcqRel, Relaxed).is_ok()
    }

    /// The token of the current wait, if there is one.
    pub(crate) fn waiting(&self) -> Option<Token> {
        Some(self.word.load(Relaxed)).filter(|word| word & ARMED != 0).map(Token)
    }

    /// The token of the current wait, if a signal may end it.
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
        let wait_token = WaitToken::default();
        let first = wait_token.arm(Ender::Object);
        assert_eq!(wait_token.waiting(), Some(first));
        assert!(wait_token.claim(first) && !wait_token.claim(first));
        let second = wait_token.arm(Ender::Signal);
        assert!(!wait_token.claim(first));
        assert_eq!(wait_token.waiting_for_signal(), Some(second));
        assert!(wait_token.claim(second));
        assert_eq!(wait_token.waiting(), None);
    }
}
