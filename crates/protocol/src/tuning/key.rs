//! The key that two hosts share ([`SharedKey`]), and the codes that are made with it.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use thiserror::Error;

/// Random bytes that an end of a connection chose for it, so that nothing of another connection is
/// taken for part of it.
pub type Nonce = [u8; 32];

/// A key that both hosts have in a file. It is never shown.
#[derive(Clone)]
pub struct SharedKey(Hmac<Sha256>);

/// Reason for which a text is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum KeyError {
    /// It is too short.
    #[error("a key has at least {SHORTEST} characters")]
    Short,
    /// It has several lines, or characters that cannot be printed.
    #[error("a key is one line of printable characters, without blanks")]
    Form,
}

impl SharedKey {
    /// Reads a key from the text of its file: one line of 32 to 1,024 printable characters. Blanks
    /// around it do not count.
    ///
    /// # Errors
    /// [`KeyError`].
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let text = text.trim_ascii();
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) || text.len() > LONGEST {
            return Err(KeyError::Form);
        }
        if text.len() < SHORTEST {
            return Err(KeyError::Short);
        }
        Ok(Self::from_bytes(text.as_bytes()))
    }

    /// The key of one connection.
    pub(crate) fn of_connection(&self, label: &[u8], host: &Nonce, client: &Nonce) -> Self {
        Self::from_bytes(&self.code(&[label, host, client]))
    }

    fn from_bytes(bytes: &[u8]) -> Self {
        Self(Hmac::new_from_slice(bytes).expect("HMAC takes keys of any length (RFC 2104)"))
    }

    /// The code over `parts`, all of which but one have a fixed length.
    pub(crate) fn code(&self, parts: &[&[u8]]) -> Code {
        self.over(parts).finalize().into_bytes().into()
    }

    /// Whether `code` is that over `parts`, in constant time.
    pub(crate) fn agrees(&self, parts: &[&[u8]], code: &[u8]) -> bool {
        self.over(parts).verify_slice(code).is_ok()
    }

    fn over(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        parts.iter().fold(self.0.clone(), |mut mac, part| {
            mac.update(part);
            mac
        })
    }
}

impl fmt::Debug for SharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedKey")
    }
}

/// A code of HMAC-SHA-256.
pub(crate) type Code = [u8; CODE];
pub(crate) const CODE: usize = 32;

/// Labels of the codes, so that none is one of another kind; each ends in a zero byte, as no other
/// does.
pub(crate) const CLIENT: &[u8] = b"linerate tuning 1, client\0";
pub(crate) const HOST: &[u8] = b"linerate tuning 1, host\0";
pub(crate) const SESSION: &[u8] = b"linerate tuning 1, connection\0";

/// 32 characters of base64 are 192 bits.
const SHORTEST: usize = 32;
const LONGEST: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_a_line_that_nobody_guesses() {
        let key = "0123456789abcdef0123456789abcdef";
        assert!(SharedKey::parse(&format!(" {key}\n")).is_ok());
        assert_eq!(SharedKey::parse(&key[1..]).err(), Some(KeyError::Short));
        for wrong in [format!("{key}\n{key}"), key.repeat(40), format!("{key}\u{e9}")] {
            assert_eq!(SharedKey::parse(&wrong).err(), Some(KeyError::Form));
        }
        assert_eq!(format!("{:?}", SharedKey::parse(key)), "Ok(SharedKey)");
    }

    /// The second case of RFC 4231.
    #[test]
    fn codes_are_those_of_the_rfc() {
        let code = SharedKey::from_bytes(b"Jefe").code(&[b"what do ya want ", b"for nothing?"]);
        let bytes: Vec<_> = code.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            bytes.concat(),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }
}
