//! The files in which keys come.

use linerate_authentication::{
    AuthenticationError, Credentials, Padding, PrivateKey, PublicKey, TokenVerifier,
};

use crate::support::{NOW_SECONDS, SKEW, alices_token, fixture, private_key, public_key, users};

fn assert_opens(key: PrivateKey) {
    let verifier = TokenVerifier::new(key, SKEW, Padding::Oaep);
    assert!(verifier.verify(Some(&alices_token()), NOW_SECONDS, &users()).is_ok());
}

fn refused_private(text: &str) -> AuthenticationError {
    PrivateKey::from_pem(text).expect_err("not a private key")
}

fn refused_public(text: &str) -> AuthenticationError {
    PublicKey::from_pem(text).expect_err("not a public key")
}

#[test]
fn a_private_key_is_pkcs8_or_pkcs1() {
    assert_opens(private_key());
    let pkcs1 = PrivateKey::from_pem(fixture!("test-only-private-pkcs1.pem"));
    assert_opens(pkcs1.expect("a private key"));
}

#[test]
fn a_key_may_stand_among_other_text_and_blocks() {
    let text = format!(
        "Bag Attributes\r\n{}{}",
        fixture!("test-only-public.pem"),
        fixture!("test-only-private.pem").replace('\n', "\r\n")
    );
    assert_opens(PrivateKey::from_pem(&text).expect("a private key"));
    assert!(PublicKey::from_pem(&text).is_ok());
}

#[test]
fn a_pass_phrase_must_be_removed_first() {
    let pkcs8 = fixture!("test-only-private-encrypted.pem");
    assert_eq!(refused_private(pkcs8), AuthenticationError::EncryptedKey);
    let pkcs1 = fixture!("test-only-private-pkcs1-encrypted.pem");
    assert_eq!(refused_private(pkcs1), AuthenticationError::EncryptedKey);
    let pkcs1 = pkcs1.replace('\n', "\r\n");
    assert_eq!(refused_private(&pkcs1), AuthenticationError::EncryptedKey);
}

#[test]
fn the_halves_of_a_key_are_told_apart() {
    let public = fixture!("test-only-public.pem");
    assert_eq!(refused_private(public), AuthenticationError::NoPrivateKey);
    let private = fixture!("test-only-private.pem");
    assert_eq!(refused_public(private), AuthenticationError::NoPublicKey);
    assert_eq!(refused_public(""), AuthenticationError::NoPublicKey);
}

#[test]
fn keys_of_other_kinds_and_sizes_are_refused() {
    let unfit = AuthenticationError::UnfitKey;
    assert_eq!(refused_public(fixture!("test-only-ec-public.pem")), unfit);
    assert_eq!(refused_private(fixture!("test-only-ec-private.pem")), unfit);
    assert_eq!(refused_public(fixture!("test-only-small-public.pem")), unfit);
}

#[test]
fn a_damaged_file_is_not_a_key() {
    let cut = &fixture!("test-only-private.pem")[..800];
    assert_eq!(refused_private(cut), AuthenticationError::NoPrivateKey);
    let damaged = fixture!("test-only-private.pem").replacen("MII", "M!I", 1);
    assert_eq!(refused_private(&damaged), AuthenticationError::Pem);
    let other = fixture!("test-only-private.pem").replacen("MII", "AAA", 1);
    assert_eq!(refused_private(&other), AuthenticationError::UnfitKey);
}

#[test]
fn credentials_that_fill_the_key_are_sealed_and_longer_ones_refused() {
    // A key of 256 bytes less the padding, the rest of the form, and the user name.
    for (padding, most) in [(Padding::Oaep, 214 - 30 - 5), (Padding::Pkcs1, 245 - 30 - 5)] {
        let token = |bytes| {
            let credentials = Credentials::new("alice", "x".repeat(bytes)).expect("credentials");
            public_key().token(&credentials, NOW_SECONDS, padding)
        };
        assert!(token(most).is_ok());
        let excess = AuthenticationError::LongCredentials { excess_bytes: 2 };
        assert_eq!(token(most + 2), Err(excess));
    }
}

#[test]
fn debug_shows_nothing() {
    assert_eq!(format!("{:?}", private_key()), "PrivateKey { .. }");
    assert_eq!(format!("{:?}", public_key()), "PublicKey { .. }");
    let verifier = TokenVerifier::new(private_key(), SKEW, Padding::Oaep);
    assert_eq!(format!("{verifier:?}"), "TokenVerifier { .. }");
}
