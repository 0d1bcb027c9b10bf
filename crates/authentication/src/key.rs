//! RSA keys from PEM: the public one encrypts tokens, the private one decrypts them.

use std::fmt;

use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::rsa::{
    KeyPair, OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, OaepPublicEncryptingKey,
    Pkcs1PrivateDecryptingKey, Pkcs1PublicEncryptingKey, PrivateDecryptingKey, PublicEncryptingKey,
};
use pem::Pem;
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
pub struct PublicKey {
    oaep: OaepPublicEncryptingKey,
    pkcs1: Pkcs1PublicEncryptingKey,
}

impl PublicKey {
    /// Reads a public RSA key from the first PEM block `PUBLIC KEY` of `text` (RFC 7468, section
    /// 13).
    ///
    /// # Errors
    /// [`AuthenticationError::Pem`], [`AuthenticationError::NoPublicKey`] or
    /// [`AuthenticationError::UnfitKey`].
    pub fn from_pem(text: &str) -> Result<Self, AuthenticationError> {
        let block = find(text, &[PUBLIC])?.ok_or(AuthenticationError::NoPublicKey)?;
        let key = PublicEncryptingKey::from_der(block.contents()).ok();
        key.and_then(|key| Self::new(&key).ok()).ok_or(AuthenticationError::UnfitKey)
    }

    fn new(key: &PublicEncryptingKey) -> Result<Self, Unspecified> {
        let oaep = OaepPublicEncryptingKey::new(key.clone())?;
        Ok(Self { oaep, pkcs1: Pkcs1PublicEncryptingKey::new(key.clone())? })
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

    fn most_bytes(&self, padding: Padding) -> usize {
        match padding {
            Padding::Oaep => self.oaep.max_plaintext_size(&OAEP_SHA1_MGF1SHA1),
            Padding::Pkcs1 => self.pkcs1.max_plaintext_size(),
        }
    }

    fn encrypt(&self, form: &[u8], padding: Padding) -> Result<EncryptedToken, Unspecified> {
        let mut encrypted = vec![0; self.oaep.ciphertext_size()];
        match padding {
            Padding::Oaep => self.oaep.encrypt(&OAEP_SHA1_MGF1SHA1, form, &mut encrypted, None)?,
            Padding::Pkcs1 => self.pkcs1.encrypt(form, &mut encrypted)?,
        };
        Ok(EncryptedToken::new(encrypted))
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
pub struct PrivateKey {
    oaep: OaepPrivateDecryptingKey,
    pkcs1: Pkcs1PrivateDecryptingKey,
}

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
        key.and_then(|key| Self::new(&key).ok()).ok_or(AuthenticationError::UnfitKey)
    }

    fn new(key: &PrivateDecryptingKey) -> Result<Self, Unspecified> {
        let oaep = OaepPrivateDecryptingKey::new(key.clone())?;
        Ok(Self { oaep, pkcs1: Pkcs1PrivateDecryptingKey::new(key.clone())? })
    }

    /// Length of the key's ciphertexts in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.oaep.key_size_bytes()
    }

    /// The plaintext; `None` on any failure, without a reason, since a reason would be an
    /// oracle.
    pub(crate) fn decrypt(
        &self,
        encrypted: &EncryptedToken,
        padding: Padding,
    ) -> Option<Zeroizing<Vec<u8>>> {
        let mut form = Zeroizing::new(vec![0; self.bytes()]);
        let opened = match padding {
            Padding::Oaep => {
                self.oaep.decrypt(&OAEP_SHA1_MGF1SHA1, encrypted.as_bytes(), &mut form, None)
            }
            Padding::Pkcs1 => self.pkcs1.decrypt(encrypted.as_bytes(), &mut form),
        };
        let bytes = opened.ok()?.len();
        form.truncate(bytes);
        Some(form)
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

fn decode(block: Pem) -> Option<PrivateDecryptingKey> {
    let is_pkcs1 = block.tag() == PKCS1;
    let der = Zeroizing::new(block.into_contents());
    if is_pkcs1 {
        let pkcs8 = KeyPair::from_der(&der).ok()?.as_der().ok()?;
        return PrivateDecryptingKey::from_pkcs8(pkcs8.as_ref()).ok();
    }
    PrivateDecryptingKey::from_pkcs8(&der).ok()
}

const PUBLIC: &str = "PUBLIC KEY";
const PKCS8: &str = "PRIVATE KEY";
const PKCS1: &str = "RSA PRIVATE KEY";
const ENCRYPTED: &str = "ENCRYPTED PRIVATE KEY";
