//! The encoding of a token: base64 of an RSA ciphertext, on one line.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// An encrypted token, as long as the key's modulus.
pub(crate) struct EncryptedToken(Vec<u8>);

impl EncryptedToken {
    pub(crate) const fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// Decodes a token; `None` unless it has the length for a key of `key_bytes`.
    ///
    /// Nothing here depends on the private key, so that a refusal reveals nothing about it.
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

    /// The token's key in the replay cache: a hash of the ciphertext, since base64 of the
    /// same bytes can be written in more than one way.
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        Sha256::digest(&self.0).into()
    }
}

/// SHA-256 of the ciphertext.
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
