//! Why a client is refused, in words for the server's log.
//!
//! The peer gets the same error for all: `IEAUTHTEST` of iperf3, 142.

use std::time::Duration;

use thiserror::Error;

use crate::credentials::UserName;

/// Reason for which a server refused a client's token.
///
/// All failures that depend on the private key are one error, [`Refusal::WrongPassword`],
/// until the client has proved that it has a right password: a server that distinguished an
/// unreadable token from a wrong password would be a decryption oracle (Bleichenbacher,
/// CRYPTO '98). Only the errors after that have their own variants and name the user.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The client sent no token.
    #[error("the client sent no user name and password")]
    NoToken,

    /// The token is empty. iperf3 3.16 to 3.19 send that where their OpenSSL fails to
    /// encrypt.
    #[error("the token is empty: the client failed to encrypt (use iperf3 3.20 or later)")]
    EmptyToken,

    /// The token is not base64, or not of the length of the server's key.
    #[error("the token is no base64 of the length that this server's key gives")]
    Malformed,

    /// The user is unknown, the password is wrong, or the token cannot be read.
    #[error(
        "user name or password is wrong, or the token is not made with this server's public key \
         and padding"
    )]
    WrongPassword,

    /// The time stamp differs too much from the server's clock.
    #[error(
        "the clock of user {user} is {} s {clock} this server's, {} s at most (set the clocks)",
        difference.as_secs(),
        limit.as_secs()
    )]
    Skew {
        /// The user, whose password was right.
        user: UserName,
        /// Whether the client's clock is behind or ahead.
        clock: Clock,
        /// Difference of the two clocks.
        difference: Duration,
        /// The largest difference that is accepted.
        limit: Duration,
    },

    /// The token was used before.
    #[error("the token of user {user} was used before: somebody may have copied it")]
    Replay {
        /// The user, whose password was right.
        user: UserName,
    },

    /// The replay cache is full. A token that is not recorded could be used twice.
    #[error("user {user} must wait: {admitted} tokens within the permitted skew are remembered")]
    ReplayCacheFull {
        /// The user, whose password was right.
        user: UserName,
        /// Number of recorded tokens.
        admitted: usize,
    },
}

/// Whether the client's clock is behind or ahead of the server's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// The clock of the client is behind, or the token was delayed.
    Behind,
    /// The clock of the client is ahead.
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
