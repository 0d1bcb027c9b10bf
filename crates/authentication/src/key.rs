//! RSA keys from PEM: the public one encrypts tokens, the private one decrypts them.

use std::fmt;

use pem::Pem;
use rsa::errors::Result as Encryption;
use rsa::pkcs1::DecodeRsaPrivateKey;
use rsa::pkcs8::{DecodePrivateKey, DecodePublicKey};
use rsa::traits::PublicKeyParts;
use sha1::Sha1;
use zeroize::Zeroizing;

use crate::claim;
use crate::credentials::Credentials;
use crate::error::AuthenticationError;
use crate::token::EncryptedToken;

/// The RSA encryption scheme of tokens. Both ends must use the same one; a token does not say
/// which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Padding {
    /// RSAES-OAEP with SHA-1 (RFC 8017, section 7.1), which iperf3 uses since 3.17.
    #[default]
    Oaep,
    /// RSAES-PKCS1-v1_5 (RFC 8017, section 7.2), which iperf3 before 3.17 uses, and later
    /// versions with `--use-pkcs1-padding`. It is weak where a server reveals whether the
    /// padding was right.
    Pkcs1,
}

/// The server's public RSA key, with which clients encrypt their user name and password to a token.
pub struct PublicKey(rsa::PublicKey);

impl PublicKey {
    /// Reads a public RSA key from the first PEM block `PUBLIC KEY` of `text` (RFC 7468, section
    /// 13).
    ///
    /// # Errors
    /// [`AuthenticationError::Pem`], [`AuthenticationError::NoPublicKey`] or
    /// [`AuthenticationError::UnfitKey`].
    pub fn from_pem(text: &str) -> Result<Self, AuthenticationError> {
        let block = find(text, &[PUBLIC])?.ok_or(AuthenticationError::NoPublicKey)?;
        let key = rsa::PublicKey::from_public_key_der(block.contents()).ok();
        key.filter(is_fit).map(Self).ok_or(AuthenticationError::UnfitKey)
    }

    /// Encrypts user name, password and time to a token in base64, which a server accepts once.
    /// `now_seconds` is the time in seconds since the Unix epoch.
    ///
    /// # Errors
    /// [`AuthenticationError::LongCredentials`] or [`AuthenticationError::Encrypt`].
    pub fn token(
        &self,
        credentials: &Credentials,
        now_seconds: u64,
        padding: Padding,
    ) -> Result<String, AuthenticationError> {
        let form = claim::write(credentials, now_seconds);
        check_room(form.len(), self.most_bytes(padding))?;
        let encrypted = self.encrypt(form.as_bytes(), padding);
        encrypted.map(|encrypted| encrypted.write()).map_err(|_| AuthenticationError::Encrypt)
    }

    /// The longest plaintext, in bytes.
    fn most_bytes(&self, padding: Padding) -> usize {
        self.0.size().saturating_sub(match padding {
            Padding::Oaep => OAEP_BYTES,
            Padding::Pkcs1 => PKCS1_BYTES,
        })
    }

    fn encrypt(&self, form: &[u8], padding: Padding) -> Encryption<EncryptedToken> {
        let encrypted = match padding {
            Padding::Oaep => self.0.oaep_encrypt::<Sha1>(form),
            Padding::Pkcs1 => self.0.pkcs1v15_encrypt(form),
        };
        encrypted.map(EncryptedToken::new)
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublicKey").finish_non_exhaustive()
    }
}

fn check_room(bytes: usize, most_bytes: usize) -> Result<(), AuthenticationError> {
    match bytes.saturating_sub(most_bytes) {
        0 => Ok(()),
        excess_bytes => Err(AuthenticationError::LongCredentials { excess_bytes }),
    }
}

/// The server's private RSA key, with which it decrypts tokens; wiped from memory on drop.
pub struct PrivateKey(rsa::PrivateKey);

impl PrivateKey {
    /// Reads a private RSA key from the first PEM block `PRIVATE KEY` (PKCS#8; RFC 7468, section
    /// 10) or `RSA PRIVATE KEY` (PKCS#1; RFC 8017, appendix A.1.2) of `text`.
    ///
    /// # Errors
    /// [`AuthenticationError::Pem`], [`AuthenticationError::NoPrivateKey`],
    /// [`AuthenticationError::EncryptedKey`] or [`AuthenticationError::UnfitKey`].
    pub fn from_pem(text: &str) -> Result<Self, AuthenticationError> {
        let block =
            find(text, &[PKCS8, PKCS1, ENCRYPTED])?.ok_or(AuthenticationError::NoPrivateKey)?;
        if is_encrypted(&block) {
            return Err(AuthenticationError::EncryptedKey);
        }
        let key = decode(block);
        key.filter(is_fit).map(Self).ok_or(AuthenticationError::UnfitKey)
    }

    /// Length of the key's ciphertexts in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.0.size()
    }

    /// The plaintext; `None` on any failure, without a reason, since a reason would be an
    /// oracle. Of wrong PKCS1 padding it is bytes that say nothing (implicit rejection,
    /// draft-irtf-cfrg-rsa-guidance).
    pub(crate) fn decrypt(
        &self,
        encrypted: &EncryptedToken,
        padding: Padding,
    ) -> Option<Zeroizing<Vec<u8>>> {
        let form = match padding {
            Padding::Oaep => self.0.oaep_decrypt::<Sha1>(encrypted.as_bytes()),
            Padding::Pkcs1 => self.0.pkcs1v15_decrypt(encrypted.as_bytes()),
        };
        form.ok().map(Zeroizing::new)
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrivateKey").finish_non_exhaustive()
    }
}

/// The first PEM block with one of these labels; a file may hold others, such as
/// certificates.
fn find(text: &str, labels: &[&str]) -> Result<Option<Pem>, AuthenticationError> {
    let blocks = pem::parse_many(text).map_err(|_| AuthenticationError::Pem)?;
    Ok(blocks.into_iter().find(|block| labels.contains(&block.tag())))
}

/// Whether the key is encrypted: PKCS#8 (RFC 7468, section 11), or by a header of the block
/// (RFC 1421, section 4.6.1.1).
fn is_encrypted(block: &Pem) -> bool {
    let marked = block.headers().get("Proc-Type").is_some_and(|kind| kind.ends_with("ENCRYPTED"));
    marked || block.tag() == ENCRYPTED
}

fn decode(block: Pem) -> Option<rsa::PrivateKey> {
    let is_pkcs1 = block.tag() == PKCS1;
    let der = Zeroizing::new(block.into_contents());
    if is_pkcs1 {
        return rsa::PrivateKey::from_pkcs1_der(&der).ok();
    }
    rsa::PrivateKey::from_pkcs8_der(&der).ok()
}

/// Whether a key is long enough to be safe, and no longer than a server has time for.
fn is_fit(key: &impl PublicKeyParts) -> bool {
    (2048..=8192).contains(&key.n().bit_width())
}

/// What OAEP with SHA-1 adds to a plaintext, in bytes (RFC 8017, section 7.1.1).
const OAEP_BYTES: usize = 2 * 20 + 2;
/// What PKCS1-v1_5 adds to a plaintext, in bytes (RFC 8017, section 7.2.1).
const PKCS1_BYTES: usize = 11;
const PUBLIC: &str = "PUBLIC KEY";
const PKCS8: &str = "PRIVATE KEY";
const PKCS1: &str = "RSA PRIVATE KEY";
const ENCRYPTED: &str = "ENCRYPTED PRIVATE KEY";
