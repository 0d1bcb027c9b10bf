//! The plaintext of a token: what a client claims. Three lines, the last without a line
//! end:
//!
//! ```text
//! user: alice
//! pwd:  secret
//! ts:   1700000000
//! ```
//!
//! The time stamp is in seconds since the Unix epoch. All versions of iperf3 write this
//! form.

use std::fmt::Write;

use zeroize::Zeroizing;

use crate::credentials::{Credentials, UserName};

/// The decrypted claim of a client, not yet verified.
pub(crate) struct Claim {
    pub(crate) user: UserName,
    pub(crate) password: Zeroizing<String>,
    pub(crate) stamped_seconds: u64,
}

impl Claim {
    /// Parses the plaintext; `None` if it is malformed.
    pub(crate) fn read(form: &[u8]) -> Option<Self> {
        let mut lines = str::from_utf8(form).ok()?.splitn(3, '\n');
        let user = lines.next()?.strip_prefix(USER)?;
        let password = lines.next()?.strip_prefix(PASSWORD)?;
        let stamp = lines.next()?.strip_prefix(TIME)?;
        Some(Self {
            user: UserName::new(user).ok()?,
            password: Zeroizing::new(password.to_owned()),
            stamped_seconds: stamp.parse().ok()?,
        })
    }

    /// The claim whose password is checked if the token's cannot be read, so that both take
    /// equally long.
    pub(crate) fn decoy() -> Self {
        Self::read(DECOY).expect("the decoy is a claim")
    }
}

/// Writes the plaintext.
///
/// It is allocated at its full size: a string that grows would leave copies of the password
/// in freed memory.
pub(crate) fn write(credentials: &Credentials, now_seconds: u64) -> Zeroizing<String> {
    let [user, password] = [credentials.user().as_str(), credentials.password()];
    let most = LONGEST_WITHOUT_CREDENTIALS + user.len() + password.len();
    let mut form = Zeroizing::new(String::with_capacity(most));
    write!(form, "{USER}{user}\n{PASSWORD}{password}\n{TIME}{now_seconds}")
        .expect("a string takes all that is written");
    form
}

const DECOY: &[u8] = b"user: nobody\npwd:  password\nts:   1700000000";
const USER: &str = "user: ";
const PASSWORD: &str = "pwd:  ";
const TIME: &str = "ts:   ";
/// The labels of the lines, two line ends, and the digits of the largest time stamp.
const LONGEST_WITHOUT_CREDENTIALS: usize = USER.len() + PASSWORD.len() + TIME.len() + 2 + 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn written(user: &str, password: &str, now_seconds: u64) -> Zeroizing<String> {
        let credentials = Credentials::new(user, password.to_owned()).expect("credentials");
        write(&credentials, now_seconds)
    }

    #[test]
    fn the_form_is_iperf3s() {
        let form = written("alice", "secret", 1_700_000_000);
        assert_eq!(*form, "user: alice\npwd:  secret\nts:   1700000000");
    }

    #[test]
    fn the_form_never_outgrows_its_room() {
        let form = written("a", "b", u64::MAX);
        assert_eq!(form.len(), LONGEST_WITHOUT_CREDENTIALS + 2);
        assert_eq!(form.capacity(), form.len());
    }

    #[test]
    fn what_is_written_can_be_read() {
        let claim = Claim::read(written("alice", " a, b", 7).as_bytes()).expect("a claim");
        assert_eq!((claim.user.as_str(), claim.password.as_str()), ("alice", " a, b"));
        assert_eq!(claim.stamped_seconds, 7);
    }

    #[test]
    fn other_forms_are_none() {
        let others: [&[u8]; 7] = [
            b"",
            b"user: alice\npwd:  secret",
            b"user: alice\npwd:  secret\nts:   -1",
            b"user: alice\npwd:  secret\nts:   99999999999999999999",
            b"user: \npwd:  secret\nts:   7",
            b"user: al\x1bice\npwd:  secret\nts:   7",
            b"user: \xff\npwd:  secret\nts:   7",
        ];
        assert!(others.iter().all(|form| Claim::read(form).is_none()));
    }

    #[test]
    fn the_decoy_can_be_read() {
        assert_eq!(Claim::decoy().user.as_str(), "nobody");
    }
}
