//! The users file: who may run a test, each with the hash of a password.
//!
//! A line is `NAME,HASH`, where HASH is the SHA-256 of `{NAME}PASSWORD` in hexadecimal
//! digits. Empty lines, lines that begin with `#`, and what follows a second comma are
//! ignored. Two lines with one name give that user two passwords.

use std::fmt;

use ctutils::CtEq;
use sha2::{Digest, Sha256};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::claim::Claim;
use crate::credentials::UserName;
use crate::error::AuthenticationError;

/// The users that may run a test, each with the hash of a password: the parsed users file of a
/// server.
pub struct Users {
    accounts: Vec<Account>,
}

impl Users {
    /// Parses a users file of at most 1 MiB and 10,000 lines, each `NAME,HASH`. HASH is the SHA-256
    /// of `{NAME}PASSWORD` in hexadecimal digits.
    ///
    /// # Errors
    /// [`AuthenticationError::LargeUsers`], [`AuthenticationError::ManyUsers`], or
    /// [`AuthenticationError::UsersLine`] for a line that is neither a user nor a comment:
    /// it refuses the whole file, so that a typing error is noticed.
    pub fn parse(text: &str) -> Result<Self, AuthenticationError> {
        check_size(text)?;
        let lines = text.lines().enumerate().filter(|(_, line)| !says_nothing(line));
        let accounts = lines.map(|(index, line)| {
            Account::parse(line).ok_or(AuthenticationError::UsersLine { line: index + 1 })
        });
        Ok(Self { accounts: accounts.collect::<Result<_, _>>()? })
    }

    /// Whether a user of this name has this password.
    ///
    /// All accounts are compared, in constant time each: the duration reveals their number,
    /// not whether the name is one of them.
    pub(crate) fn verify_password(&self, claim: &Claim) -> bool {
        let claimed = Account::from_claim(claim);
        self.accounts.iter().fold(false, |known, account| known | account.equals(&claimed))
    }
}

impl fmt::Debug for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Users").finish_non_exhaustive()
    }
}

fn check_size(text: &str) -> Result<(), AuthenticationError> {
    if text.len() > MOST_BYTES {
        return Err(AuthenticationError::LargeUsers { bytes: text.len(), most: MOST_BYTES });
    }
    if text.lines().count() > MOST_LINES {
        return Err(AuthenticationError::ManyUsers { most: MOST_LINES });
    }
    Ok(())
}

fn says_nothing(line: &str) -> bool {
    line.trim().is_empty() || line.starts_with('#')
}

/// The SHA-256 of the name, then that of name and password: of equal length for all users.
#[derive(Zeroize, ZeroizeOnDrop)]
struct Account([u8; 2 * HASH_BYTES]);

impl Account {
    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split(',');
        let user = UserName::new(fields.next()?).ok()?;
        let hash = hexadecimal(fields.next()?.trim())?;
        Some(Self::new(&user, &hash))
    }

    fn from_claim(claim: &Claim) -> Self {
        Self::new(&claim.user, &password_hash(claim))
    }

    fn new(user: &UserName, password_hash: &[u8]) -> Self {
        let mut account = Self([0; 2 * HASH_BYTES]);
        let (name, password) = account.0.split_at_mut(HASH_BYTES);
        name.copy_from_slice(&Sha256::digest(user.as_str()));
        password.copy_from_slice(password_hash);
        account
    }

    fn equals(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

/// iperf3's hash of a password: `{NAME}PASSWORD`, with the braces.
fn password_hash(claim: &Claim) -> [u8; HASH_BYTES] {
    let mut hash = Sha256::new();
    for part in ["{", claim.user.as_str(), "}", claim.password.as_str()] {
        hash.update(part);
    }
    hash.finalize().into()
}

/// Decodes a SHA-256 in hexadecimal digits.
fn hexadecimal(text: &str) -> Option<[u8; HASH_BYTES]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * HASH_BYTES {
        return None;
    }
    let mut bytes = [0; HASH_BYTES];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
    }
    Some(bytes)
}

fn nibble(digit: u8) -> Option<u8> {
    let value = char::from(digit).to_digit(16)?;
    u8::try_from(value).ok()
}

const MOST_BYTES: usize = 1 << 20;
const MOST_LINES: usize = 10_000;
const HASH_BYTES: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(user: &str, password: &str) -> Claim {
        let form = format!("user: {user}\npwd:  {password}\nts:   0");
        Claim::read(form.as_bytes()).expect("a claim")
    }

    fn users(text: &str) -> Users {
        Users::parse(text).expect("users")
    }

    fn refusal(text: &str) -> AuthenticationError {
        Users::parse(text).expect_err("not users")
    }

    fn assert_knows_alice(text: &str) {
        let users = users(text);
        assert!(users.verify_password(&claim("alice", "secret")), "{text}");
        assert!(!users.verify_password(&claim("alice", "secreT")), "{text}");
        assert!(!users.verify_password(&claim("bob", "secret")), "{text}");
    }

    #[test]
    fn a_user_has_one_password() {
        assert_knows_alice(&format!("alice,{ALICE}"));
        assert_knows_alice(&format!("alice,{ALICE}\n"));
        assert_knows_alice(&format!("bob,{OTHER}\nalice,{ALICE}\nalice,{OTHER}\n"));
    }

    #[test]
    fn comments_empty_lines_and_other_ends_of_lines_say_nothing() {
        assert_knows_alice(&format!("# who\r\n\r\nalice,{ALICE}\r\n#bob,x\r\n  \r\n"));
        assert_knows_alice(&format!("alice,{ALICE} \n"));
        assert_knows_alice(&format!("alice,{ALICE},of the lab\n"));
        assert_knows_alice(&format!("alice,{}\n", ALICE.to_uppercase()));
    }

    #[test]
    fn the_hash_of_one_user_is_of_no_use_to_another() {
        let users = users(&format!("bob,{ALICE}"));
        assert!(!users.verify_password(&claim("bob", "secret")));
        assert!(!users.verify_password(&claim("alice", "secret")));
    }

    #[test]
    fn braces_in_names_and_passwords_do_not_make_another_user() {
        // {a}b}c is the text of user a with password b}c, and of user a}b with password c.
        let hash = "99ddb9dca5a9307b9f77609704e03db134e50957bd15729cc08e0b3651e0ee78";
        let users = users(&format!("a,{hash}"));
        assert!(users.verify_password(&claim("a", "b}c")));
        assert!(!users.verify_password(&claim("a}b", "c")));
    }

    #[test]
    fn an_empty_file_knows_nobody() {
        assert!(!users("").verify_password(&claim("alice", "secret")));
    }

    #[test]
    fn a_line_that_is_no_user_is_named() {
        let no_users =
            ["alice", "alice,", "alice,abc", ",", &format!(",{ALICE}"), &format!("alice,x{ALICE}")];
        for line in no_users {
            let refused = refusal(&format!("# who\n{line}\n"));
            assert_eq!(refused, AuthenticationError::UsersLine { line: 2 }, "{line}");
        }
        let not_hexadecimal = ALICE.replace('0', "g");
        let refused = refusal(&format!("alice,{not_hexadecimal}"));
        assert_eq!(refused, AuthenticationError::UsersLine { line: 1 });
    }

    #[test]
    fn a_file_has_its_limits() {
        let refused = refusal(&"#".repeat(MOST_BYTES + 1));
        assert_eq!(refused, AuthenticationError::LargeUsers { bytes: 1_048_577, most: 1_048_576 });
        let refused = refusal(&"\n".repeat(MOST_LINES + 1));
        assert_eq!(refused, AuthenticationError::ManyUsers { most: 10_000 });
        assert!(Users::parse(&"\n".repeat(MOST_LINES)).is_ok());
    }

    #[test]
    fn debug_shows_nothing() {
        assert_eq!(format!("{:?}", users(&format!("alice,{ALICE}"))), "Users { .. }");
    }

    /// SHA-256 of `{alice}secret`.
    const ALICE: &str = "27b307f21eb6137ab56a3c80a93a5db840e79a697f80f3381c87edaa79a83f6f";
    const OTHER: &str = "0000000000000000000000000000000000000000000000000000000000000000";
}
