//! The outside of a token: base64 of what RSA sealed, on one line.

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// A sealed form, as long as the key that sealed it.
pub(crate) struct EncryptedToken(Vec<u8>);

impl EncryptedToken {
    pub(crate) const fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// Reads a token, if it is one for a key of `key_bytes`.
    ///
    /// Nothing here depends on the private key, so that a refusal tells nothing of it.
    pub(crate) fn read(token: &str, key_bytes: usize) -> Option<Self> {
        if token.len() != key_bytes.div_ceil(3) * 4 {
            return None;
        }
        STANDARD.decode(token).ok().filter(|bytes| bytes.len() == key_bytes).map(Self)
    }

    pub(crate) fn write(&self) -> String {
        STANDARD.encode(&self.0)
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// By which a token is remembered: of what is sealed, as base64 could be written in two ways.
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        let mut fingerprint = [0; 32];
        fingerprint.copy_from_slice(digest(&SHA256, &self.0).as_ref());
        fingerprint
    }
}

/// SHA-256 of what a token seals.
pub(crate) type Fingerprint = [u8; 32];

#[cfg(test)]
mod tests {
    use super::*;

    fn token(bytes: usize) -> String {
        EncryptedToken::new(vec![0xA5; bytes]).write()
    }

    #[test]
    fn a_token_has_the_length_of_the_key() {
        assert!(EncryptedToken::read(&token(256), 256).is_some());
        // 255 and 256 bytes differ by one of base64's padding characters alone.
        for bytes in [0, 1, 254, 255, 257, 258, 100_000] {
            assert!(EncryptedToken::read(&token(bytes), 256).is_none(), "{bytes}");
        }
    }

    #[test]
    fn a_token_is_strict_base64() {
        let token = token(256);
        assert!(EncryptedToken::read(&token.replace("==", "  "), 256).is_none());
        assert!(EncryptedToken::read(&token.replacen('p', "\n", 1), 256).is_none());
        // The last digit has four bits that mean nothing and must be zero.
        assert!(token.ends_with("pQ=="));
        assert!(EncryptedToken::read(&token.replace("pQ==", "pR=="), 256).is_none());
    }
}
