//! Any text in place of a file with an RSA key.

#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_authentication::{PrivateKey, PublicKey};
use linerate_fuzz::memory;

fuzz_target!(|text: &str| {
    memory::bounded(text.len(), || {
        let _ = PrivateKey::from_pem(text);
        let _ = PublicKey::from_pem(text);
    });
});
