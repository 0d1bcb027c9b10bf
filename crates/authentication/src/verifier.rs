//! The server's side: verification of tokens.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::claim::Claim;
use crate::credentials::UserName;
use crate::key::{Padding, PrivateKey};
use crate::refusal::{Clock, Refusal};
use crate::replay_cache::{Lookup, ReplayCache};
use crate::token::EncryptedToken;
use crate::users::Users;

/// Verifies the tokens of clients: the password must be right, the time stamp current, and the
/// token not used before. One verifier serves all threads of a server.
pub struct TokenVerifier {
    key: PrivateKey,
    skew_seconds: u64,
    padding: Padding,
    replay_cache: Mutex<ReplayCache>,
}

impl TokenVerifier {
    /// Makes a verifier for tokens that were encrypted for `key` with `padding`. The time stamp of
    /// a token may differ from the server's clock by at most `skew`, cut to whole seconds.
    pub fn new(key: PrivateKey, skew: Duration, padding: Padding) -> Self {
        Self { key, skew_seconds: skew.as_secs(), padding, replay_cache: Mutex::default() }
    }

    /// Verifies a client's token at `now_seconds` since the Unix epoch, and returns the user. None
    /// as `token` means that the client sent none. A token is accepted once.
    ///
    /// The order matters: all failures that depend on the private key have one error, and
    /// time stamp and replay cache are consulted only for a right password.
    ///
    /// # Errors
    /// The [`Refusal`] with the reason, for the server's log.
    pub fn verify(
        &self,
        token: Option<&str>,
        now_seconds: u64,
        users: &Users,
    ) -> Result<UserName, Refusal> {
        let token = token.ok_or(Refusal::NoToken)?;
        if token.is_empty() {
            return Err(Refusal::EmptyToken);
        }
        let encrypted = EncryptedToken::read(token, self.key.bytes()).ok_or(Refusal::Malformed)?;
        let claim =
            self.decrypt_and_check_password(&encrypted, users).ok_or(Refusal::WrongPassword)?;
        self.check_stamp(&claim, now_seconds)?;
        self.check_first_use(&encrypted, &claim, now_seconds)?;
        Ok(claim.user)
    }

    /// The decrypted claim, if its password is right. A password is checked even if the
    /// token cannot be decrypted, so that both take equally long.
    fn decrypt_and_check_password(
        &self,
        encrypted: &EncryptedToken,
        users: &Users,
    ) -> Option<Claim> {
        let form = self.key.decrypt(encrypted, self.padding);
        let claim = form.and_then(|form| Claim::read(&form));
        let is_known = users.verify_password(claim.as_ref().unwrap_or(&Claim::decoy()));
        claim.filter(|_| is_known)
    }

    fn check_stamp(&self, claim: &Claim, now_seconds: u64) -> Result<(), Refusal> {
        let difference_seconds = now_seconds.abs_diff(claim.stamped_seconds);
        if difference_seconds <= self.skew_seconds {
            return Ok(());
        }
        let is_behind = claim.stamped_seconds < now_seconds;
        Err(Refusal::Skew {
            user: claim.user.clone(),
            clock: if is_behind { Clock::Behind } else { Clock::AheadOf },
            difference: Duration::from_secs(difference_seconds),
            limit: Duration::from_secs(self.skew_seconds),
        })
    }

    fn check_first_use(
        &self,
        encrypted: &EncryptedToken,
        claim: &Claim,
        now_seconds: u64,
    ) -> Result<(), Refusal> {
        let oldest_seconds = now_seconds.saturating_sub(self.skew_seconds);
        let fingerprint = encrypted.fingerprint();
        let user = claim.user.clone();
        match self.replay_cache().remember(fingerprint, claim.stamped_seconds, oldest_seconds) {
            Lookup::New => Ok(()),
            Lookup::Known => Err(Refusal::Replay { user }),
            Lookup::Full(admitted) => Err(Refusal::ReplayCacheFull { user, admitted }),
        }
    }

    /// Ignores poisoning: a thread that panicked cannot have left a token half inserted.
    fn replay_cache(&self) -> MutexGuard<'_, ReplayCache> {
        self.replay_cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for TokenVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenVerifier").finish_non_exhaustive()
    }
}
