//! A gate for one user, and what it may say of a token.

use std::cell::RefCell;
use std::time::Duration;

use authentication::{Padding, PrivateKey, Refusal, TokenVerifier, UserName, Users};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rsa::pkcs8::DecodePublicKey;
use sha1::Sha1;

/// Whether a token admits, which it must do once; a refusal must not change.
pub(crate) fn admits(token: &str, padding: Padding) -> bool {
    DESK.with_borrow_mut(|desk| desk.admits(token, padding))
}

/// The token that seals this form, whatever it says; none if the key has no room for it.
pub(crate) fn sealed(form: &[u8], padding: Padding) -> Option<String> {
    KEY.with(|key| key.sealed(form, padding)).map(|bytes| STANDARD.encode(bytes))
}

/// Whether a form says, word for word, what admits.
pub(crate) fn is_true(form: &[u8]) -> bool {
    let stamp = form.strip_prefix(CLAIM).and_then(|stamp| str::from_utf8(stamp).ok());
    let stamp = stamp.and_then(|stamp| stamp.parse::<u64>().ok());
    stamp.is_some_and(|stamp| NOW_SECONDS.abs_diff(stamp) <= SKEW.as_secs())
}

/// The text of the key with which all clients of the gate seal.
const PUBLIC_KEY: &str =
    include_str!("../../crates/authentication/tests/fixtures/test-only-public.pem");
const PRIVATE_KEY: &str =
    include_str!("../../crates/authentication/tests/fixtures/test-only-private.pem");

thread_local! {
    /// Reading a key takes longer than judging a token.
    static DESK: RefCell<Desk> = RefCell::new(Desk::new());
    static KEY: Key = Key::new();
}

struct Desk {
    oaep: TokenVerifier,
    pkcs1: TokenVerifier,
    users: Users,
}

impl Desk {
    fn new() -> Self {
        let users = Users::parse(&format!("alice,{ALICE}\n")).expect("users");
        Self { oaep: gate(Padding::Oaep), pkcs1: gate(Padding::Pkcs1), users }
    }

    fn admits(&mut self, token: &str, padding: Padding) -> bool {
        let Self { oaep, pkcs1, users } = self;
        let gate = match padding {
            Padding::Oaep => oaep,
            Padding::Pkcs1 => pkcs1,
        };
        let first = gate.verify(Some(token), NOW_SECONDS, users);
        let again = gate.verify(Some(token), NOW_SECONDS, users);
        let Ok(user) = first else {
            assert_eq!(again, first, "a refusal does not change");
            return false;
        };
        assert_eq!(user, alice());
        assert_eq!(again, Err(Refusal::Replay { user }));
        // It forgets what it admitted, so that no input depends on those before it.
        *gate = self::gate(padding);
        true
    }
}

fn gate(padding: Padding) -> TokenVerifier {
    TokenVerifier::new(PrivateKey::from_pem(PRIVATE_KEY).expect("a private key"), SKEW, padding)
}

fn alice() -> UserName {
    UserName::new("alice").expect("a name")
}

/// The public key in the library's own words: the crate seals no form but its own.
struct Key(rsa::PublicKey);

impl Key {
    fn new() -> Self {
        let base64: String = PUBLIC_KEY.lines().filter(|line| !line.starts_with("-----")).collect();
        let der = STANDARD.decode(base64).expect("PEM is base64");
        Self(rsa::PublicKey::from_public_key_der(&der).expect("a public key"))
    }

    fn sealed(&self, form: &[u8], padding: Padding) -> Option<Vec<u8>> {
        match padding {
            Padding::Oaep => self.0.oaep_encrypt::<Sha1>(form),
            Padding::Pkcs1 => self.0.pkcs1v15_encrypt(form),
        }
        .ok()
    }
}

const CLAIM: &[u8] = b"user: alice\npwd:  secret\nts:   ";
const NOW_SECONDS: u64 = 1_700_000_000;
const SKEW: Duration = Duration::from_secs(10);
/// SHA-256 of `{alice}secret`.
const ALICE: &str = "27b307f21eb6137ab56a3c80a93a5db840e79a697f80f3381c87edaa79a83f6f";
