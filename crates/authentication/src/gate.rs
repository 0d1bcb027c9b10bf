//! The server's side: who is admitted.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::claim::Claim;
use crate::credentials::UserName;
use crate::key::{Padding, PrivateKey};
use crate::memory::{Memory, Recollection};
use crate::refusal::{Clock, Refusal};
use crate::token::Sealed;
use crate::users::Users;

/// Admits who shows a token of about now that was not shown before. One gate serves all
/// threads of a server.
pub struct Gate {
    key: PrivateKey,
    skew_seconds: u64,
    padding: Padding,
    memory: Mutex<Memory>,
}

impl Gate {
    /// A gate for tokens that were sealed for this key, in this way, and whose stamp differs
    /// from the server's clock by at most `skew`, in whole seconds.
    pub fn new(key: PrivateKey, skew: Duration, padding: Padding) -> Self {
        Self { key, skew_seconds: skew.as_secs(), padding, memory: Mutex::default() }
    }

    /// Judges the token of one client at `now_seconds` since the epoch. A token is admitted
    /// once.
    ///
    /// The order matters: what only the private key can tell ends in one answer, and the stamp
    /// and the memory are looked at only for who knows a password.
    pub fn admit(
        &self,
        token: Option<&str>,
        now_seconds: u64,
        users: &Users,
    ) -> Result<UserName, Refusal> {
        let token = token.ok_or(Refusal::NoToken)?;
        if token.is_empty() {
            return Err(Refusal::EmptyToken);
        }
        let sealed = Sealed::read(token, self.key.bytes()).ok_or(Refusal::Malformed)?;
        let claim = self.believe(&sealed, users).ok_or(Refusal::WrongPassword)?;
        self.check_stamp(&claim, now_seconds)?;
        self.check_first_use(&sealed, &claim, now_seconds)?;
        Ok(claim.user)
    }

    /// What the token claims, if it is true. The users are asked even where nothing could be
    /// read.
    fn believe(&self, sealed: &Sealed, users: &Users) -> Option<Claim> {
        let form = self.key.open(sealed, self.padding);
        let claim = form.and_then(|form| Claim::read(&form));
        let is_known = users.know(claim.as_ref().unwrap_or(&Claim::decoy()));
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
        sealed: &Sealed,
        claim: &Claim,
        now_seconds: u64,
    ) -> Result<(), Refusal> {
        let oldest_seconds = now_seconds.saturating_sub(self.skew_seconds);
        let fingerprint = sealed.fingerprint();
        let user = claim.user.clone();
        match self.memory().remember(fingerprint, claim.stamped_seconds, oldest_seconds) {
            Recollection::New => Ok(()),
            Recollection::Known => Err(Refusal::Replay { user }),
            Recollection::Full(admitted) => Err(Refusal::Full { user, admitted }),
        }
    }

    /// A thread that panicked cannot have left a token half remembered.
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").finish_non_exhaustive()
    }
}
