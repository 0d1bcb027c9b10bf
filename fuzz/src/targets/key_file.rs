//! A file with an RSA key that holds any text.

use crate::memory;
use authentication::{PrivateKey, PublicKey};

/// Judges one input.
pub(super) fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    memory::bounded(text.len(), || {
        let _ = PrivateKey::from_pem(text);
        let _ = PublicKey::from_pem(text);
    });
}
