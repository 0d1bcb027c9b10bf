//! Why a client is not admitted, in words for the server's log.
//!
//! A peer is told the same of each, `IEAUTHTEST` in iperf3's terms: 142.

use std::time::Duration;

use thiserror::Error;

use crate::credentials::UserName;

/// A token that admits nobody.
///
/// What depends on the private key is one answer, [`Refusal::WrongPassword`], until the client
/// has proved that it knows a password: a server that told an unreadable token from a wrong
/// password would decrypt for anybody who asks often enough (Bleichenbacher, CRYPTO '98). Only
/// who passed that is told apart, and only they are named.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The client sent none.
    #[error("the client sent no user name and password")]
    NoToken,

    /// The client sent an empty one, as iperf3 3.16 to 3.19 do where their OpenSSL refuses to
    /// encrypt.
    #[error("the token is empty: the client failed to encrypt (use iperf3 3.20 or later)")]
    EmptyToken,

    /// No token for this server's key has this form or length, whatever it says.
    #[error("the token is no base64 of the length that this server's key gives")]
    Malformed,

    /// The user is unknown, the password is wrong, or the token cannot be read.
    #[error(
        "user name or password is wrong, or the token is not made with this server's public key \
         and padding"
    )]
    WrongPassword,

    /// The token is of another time than the server's.
    #[error(
        "the clock of user {user} is {} s {clock} this server's, {} s at most (set the clocks)",
        difference.as_secs(),
        limit.as_secs()
    )]
    Skew {
        /// Whose password is right.
        user: UserName,
        /// The direction.
        clock: Clock,
        /// How far.
        difference: Duration,
        /// How far it may be.
        limit: Duration,
    },

    /// The token was used before.
    #[error("the token of user {user} was used before: somebody may have copied it")]
    Replay {
        /// Whose token it was.
        user: UserName,
    },

    /// There is no room to remember another token, and what is not remembered could be used
    /// twice.
    #[error("user {user} must wait: {admitted} tokens within the permitted skew are remembered")]
    ReplayCacheFull {
        /// Whose password is right.
        user: UserName,
        /// How many are remembered.
        admitted: usize,
    },
}

/// Where the client's clock is, seen from the server's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// The client's shows an earlier time, or the token was long under way.
    Behind,
    /// The client's shows a later time.
    AheadOf,
}

impl std::fmt::Display for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Behind => "behind",
            Self::AheadOf => "ahead of",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skew_says_how_far_and_in_which_direction() {
        let user = UserName::new("alice").expect("a name");
        let [difference, limit] = [25, 10].map(Duration::from_secs);
        let refusal = Refusal::Skew { user, clock: Clock::Behind, difference, limit };
        assert_eq!(
            refusal.to_string(),
            "the clock of user alice is 25 s behind this server's, 10 s at most (set the clocks)"
        );
    }
}
