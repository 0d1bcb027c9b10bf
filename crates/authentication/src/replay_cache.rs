//! The replay cache: tokens that were accepted, for as long as their time stamps are
//! current.
//!
//! It is not persistent: a token that was accepted before a restart, or before the server's
//! clock was set back by more than the skew, can be used again.

use std::collections::BTreeMap;

use crate::token::Fingerprint;

/// Fingerprints of accepted tokens, with their time stamps.
#[derive(Default)]
pub(crate) struct ReplayCache {
    stamped_seconds: BTreeMap<Fingerprint, u64>,
}

/// The result of inserting a token.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// The token is new and was inserted.
    New,
    /// The token was accepted before.
    Known,
    /// The token is new, but the cache is full with this number of tokens.
    Full(usize),
}

impl ReplayCache {
    /// Removes tokens that have expired, and inserts one.
    pub(crate) fn remember(
        &mut self,
        token: Fingerprint,
        stamped_seconds: u64,
        oldest_seconds: u64,
    ) -> Lookup {
        self.stamped_seconds.retain(|_, stamped| *stamped >= oldest_seconds);
        let remembered = self.stamped_seconds.len();
        if self.stamped_seconds.contains_key(&token) {
            return Lookup::Known;
        }
        if remembered >= MOST_TOKENS {
            return Lookup::Full(remembered);
        }
        self.stamped_seconds.insert(token, stamped_seconds);
        Lookup::New
    }
}

/// About 3 MiB: six thousand tests per second within the usual skew, where a server runs
/// one.
const MOST_TOKENS: usize = 65_536;

#[cfg(test)]
mod tests {
    use super::*;

    fn token(number: usize) -> Fingerprint {
        let mut token = [0; 32];
        token[..size_of::<usize>()].copy_from_slice(&number.to_le_bytes());
        token
    }

    #[test]
    fn a_token_is_new_once_until_it_is_too_old() {
        let mut memory = ReplayCache::default();
        assert_eq!(memory.remember(token(1), 100, 90), Lookup::New);
        assert_eq!(memory.remember(token(1), 100, 100), Lookup::Known);
        assert_eq!(memory.remember(token(2), 105, 101), Lookup::New);
        assert_eq!(memory.stamped_seconds.len(), 1);
    }

    #[test]
    fn a_full_memory_admits_nothing_until_it_forgets() {
        let mut memory = ReplayCache::default();
        memory.stamped_seconds.extend((0..MOST_TOKENS).map(|number| (token(number), 100)));
        let next = token(MOST_TOKENS);
        assert_eq!(memory.remember(next, 105, 95), Lookup::Full(MOST_TOKENS));
        assert_eq!(memory.remember(token(7), 100, 95), Lookup::Known);
        assert_eq!(memory.remember(next, 105, 101), Lookup::New);
        assert_eq!(memory.stamped_seconds.len(), 1);
    }
}
