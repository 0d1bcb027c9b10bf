//! Keys, users and tokens that stand in `tests/fixtures`.

use std::time::Duration;

use linerate_authentication::{Credentials, Padding, PrivateKey, PublicKey, TokenVerifier, Users};

/// The text of a fixture.
macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../fixtures/", $name))
    };
}
pub(crate) use fixture;

pub(crate) fn public_key() -> PublicKey {
    PublicKey::from_pem(fixture!("test-only-public.pem")).expect("a public key")
}

pub(crate) fn private_key() -> PrivateKey {
    PrivateKey::from_pem(fixture!("test-only-private.pem")).expect("a private key")
}

pub(crate) fn verifier(padding: Padding) -> TokenVerifier {
    TokenVerifier::new(private_key(), SKEW, padding)
}

/// Alice alone, whose password is `secret`.
pub(crate) fn users() -> Users {
    Users::parse(&format!("alice,{ALICE}\n")).expect("users")
}

pub(crate) fn token_of(user: &str, password: &str, now_seconds: u64, padding: Padding) -> String {
    let credentials = Credentials::new(user, password.to_owned()).expect("credentials");
    public_key().token(&credentials, now_seconds, padding).expect("a token")
}

/// Alice's token, made at [`NOW_SECONDS`].
pub(crate) fn alices_token() -> String {
    token_of("alice", "secret", NOW_SECONDS, Padding::Oaep)
}

/// The time of all fixtures that do not say otherwise.
pub(crate) const NOW_SECONDS: u64 = 1_700_000_000;
pub(crate) const SKEW: Duration = Duration::from_secs(10);
/// SHA-256 of `{alice}secret`.
pub(crate) const ALICE: &str = "27b307f21eb6137ab56a3c80a93a5db840e79a697f80f3381c87edaa79a83f6f";
