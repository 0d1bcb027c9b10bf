//! A user name and its password.

use std::fmt;

use zeroize::Zeroizing;

use crate::error::AuthenticationError;

/// A user name that fits into a users file and a log: 1 to 256 bytes, no comma and no
/// control character.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserName(String);

impl UserName {
    /// Checks the length and the characters of a user name.
    ///
    /// # Errors
    /// [`AuthenticationError::EmptyUserName`], [`AuthenticationError::LongUserName`] or
    /// [`AuthenticationError::UserNameCharacter`].
    pub fn new(name: &str) -> Result<Self, AuthenticationError> {
        match name {
            "" => Err(AuthenticationError::EmptyUserName),
            _ if name.len() > MOST_BYTES => {
                Err(AuthenticationError::LongUserName { bytes: name.len(), most: MOST_BYTES })
            }
            _ if name.contains(is_refused) => Err(AuthenticationError::UserNameCharacter),
            _ => Ok(Self(name.to_owned())),
        }
    }

    /// The user name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for UserName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

fn is_refused(character: char) -> bool {
    character == ',' || character.is_control()
}

/// A user name and a password, which is wiped from memory on drop.
///
/// iperf3's server ends both at the first blank, so that names and passwords with blanks
/// always fail there.
pub struct Credentials {
    user: UserName,
    password: Zeroizing<String>,
}

impl Credentials {
    /// Checks the characters of a user name and a password, and joins them. The password is wiped
    /// from memory on drop.
    ///
    /// # Errors
    /// The errors of [`UserName::new`], [`AuthenticationError::EmptyPassword`] or
    /// [`AuthenticationError::PasswordCharacter`].
    pub fn new(user: &str, password: String) -> Result<Self, AuthenticationError> {
        let password = Zeroizing::new(password);
        if password.is_empty() {
            return Err(AuthenticationError::EmptyPassword);
        }
        if password.contains(char::is_control) {
            return Err(AuthenticationError::PasswordCharacter);
        }
        Ok(Self { user: UserName::new(user)?, password })
    }

    /// The user name, without the password.
    pub fn user(&self) -> &UserName {
        &self.user
    }

    pub(crate) fn password(&self) -> &str {
        &self.password
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}

/// `NAME_MAX` of Linux; user names of a host are shorter (`LOGIN_NAME_MAX`, limits(7)).
const MOST_BYTES: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(user: &str, password: &str) -> AuthenticationError {
        Credentials::new(user, password.to_owned()).expect_err("not credentials")
    }

    #[test]
    fn a_name_is_short_and_printable() {
        assert_eq!(refusal("", "secret"), AuthenticationError::EmptyUserName);
        assert_eq!(refusal("a,b", "secret"), AuthenticationError::UserNameCharacter);
        assert_eq!(refusal("a\x1b[2J", "secret"), AuthenticationError::UserNameCharacter);
        assert_eq!(refusal("a\u{85}b", "secret"), AuthenticationError::UserNameCharacter);
        let long = AuthenticationError::LongUserName { bytes: 257, most: 256 };
        assert_eq!(refusal(&"a".repeat(257), "secret"), long);
        assert!(UserName::new(&"a".repeat(256)).is_ok());
    }

    #[test]
    fn a_password_is_one_line() {
        assert_eq!(refusal("alice", ""), AuthenticationError::EmptyPassword);
        assert_eq!(refusal("alice", "a\nts:   0"), AuthenticationError::PasswordCharacter);
        assert!(Credentials::new("alice", "correct horse, ü".to_owned()).is_ok());
    }

    #[test]
    fn debug_shows_nothing() {
        let credentials = Credentials::new("alice", "secret".to_owned()).expect("credentials");
        assert_eq!(format!("{credentials:?}"), "Credentials { .. }");
    }
}
