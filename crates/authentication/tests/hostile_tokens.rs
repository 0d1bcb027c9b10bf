//! Tokens of the kinds that broke iperf3's authentication, one test for each CVE of the years
//! 2023 to 2025.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use linerate_authentication::{Padding, PrivateKey, Refusal, TokenVerifier, UserName, Users};
use rsa::pkcs8::DecodePublicKey;
use sha1::Sha1;

/// CVE-2024-26306: an iperf3 server before 3.17 let its clients see, in the time it took, what
/// was wrong with the padding of a token, and so decrypted for whoever asked often enough.
///
/// What is wrong inside of a token is one answer, whatever it is. The padding is OAEP unless
/// the server's host chose otherwise.
#[test]
fn cve_2024_26306_no_answer_tells_what_is_wrong_inside() {
    let wrong = [
        STANDARD.encode([0; 256]),
        STANDARD.encode([0xff; 256]),
        sealed(b"", Padding::Oaep),
        sealed(&[0; 214], Padding::Oaep),
        sealed(TRUE_FORM, Padding::Pkcs1),
        sealed(b"user: alice\npwd:  wrong\nts:   1700000000", Padding::Oaep),
        sealed(b"user: nobody\npwd:  password\nts:   1700000000", Padding::Oaep),
    ];
    assert_eq!(Padding::default(), Padding::Oaep);
    for token in wrong {
        assert_eq!(judge(&token, Padding::Oaep), Err(Refusal::WrongPassword));
    }
}

/// CVE-2025-54349: iperf3 before 3.19.1 wrote the zero that ends a text one byte behind the
/// buffer of what it had opened, where that was as long as the key allows.
///
/// A form of every length that fits is judged like any other.
#[test]
fn cve_2025_54349_a_form_as_long_as_the_key_allows_is_judged_like_any_other() {
    let lengths = |most: usize| [0, 1, TRUE_FORM.len(), most - 1, most];
    for length in lengths(MOST_OAEP) {
        let token = sealed(&form(length), Padding::Oaep);
        assert_eq!(judge(&token, Padding::Oaep), expected(length), "{length}");
    }
    for length in lengths(MOST_PKCS1) {
        let token = sealed(&form(length), Padding::Pkcs1);
        assert_eq!(judge(&token, Padding::Pkcs1), expected(length), "{length}");
    }
}

/// CVE-2025-54350: iperf3 before 3.19.1 asserted that base64 decodes to the length that it had
/// computed, so that a token in which it does not ended the server.
///
/// Such a token is malformed, and the next client is served.
#[test]
fn cve_2025_54350_a_token_that_is_no_base64_ends_nothing() {
    let good = sealed(TRUE_FORM, Padding::Oaep);
    let malformed = [
        "=".to_owned(),
        "====".to_owned(),
        "=".repeat(good.len()),
        "A".repeat(good.len()),
        format!("=={}", &good[..good.len() - 2]),
        format!("{}\0", &good[..good.len() - 1]),
        format!("{}=\n", &good[..good.len() - 2]),
        format!("{}====", &good[..good.len() - 4]),
        format!("{}==", &good[..good.len() - 4]),
        format!("{good}===="),
        good.replace('A', "%"),
        good[1..].to_owned(),
        "\u{fffd}".repeat(good.len() / 3),
        "A".repeat(60_000),
    ];
    let verifier = verifier(Padding::Oaep);
    for token in malformed.iter().filter(|token| **token != good) {
        let refused = verifier.verify(Some(token), NOW_SECONDS, &users());
        assert_eq!(refused, Err(Refusal::Malformed), "{token:?}");
    }
    assert_eq!(verifier.verify(Some(&good), NOW_SECONDS, &users()), Ok(alice()));
}

/// What an iperf3 of any version takes apart without a look at where it ends: forms without
/// their lines, with too many, with zeros, with what a conversion of a text makes of them.
#[test]
fn cve_2025_54349_no_form_does_harm() {
    let forms: [&[u8]; 10] = [
        b"user: ",
        b"user: alice",
        b"user: alice\npwd:  secret",
        b"user: alice\npwd:  secret\nts:   ",
        b"user: alice\npwd:  secret\nts:   99999999999999999999",
        b"user: alice\npwd:  secret\nts:   1700000000\n",
        b"user: alice\0\npwd:  secret\nts:   1700000000",
        b"user: %s%n\npwd:  %s\nts:   %d",
        b"\xff\xfe\x00\x00",
        b"\n\n\n\n",
    ];
    for form in forms {
        for padding in [Padding::Oaep, Padding::Pkcs1] {
            let refused = judge(&sealed(form, padding), padding);
            assert_eq!(refused, Err(Refusal::WrongPassword), "{}", form.escape_ascii());
        }
    }
}

/// The true form where the length is its own, else as many letters.
fn form(length: usize) -> Vec<u8> {
    if length == TRUE_FORM.len() { TRUE_FORM.to_vec() } else { vec![b'u'; length] }
}

fn expected(length: usize) -> Result<UserName, Refusal> {
    if length == TRUE_FORM.len() { Ok(alice()) } else { Err(Refusal::WrongPassword) }
}

fn judge(token: &str, padding: Padding) -> Result<UserName, Refusal> {
    verifier(padding).verify(Some(token), NOW_SECONDS, &users())
}

fn verifier(padding: Padding) -> TokenVerifier {
    let key = PrivateKey::from_pem(include_str!("fixtures/test-only-private.pem"));
    TokenVerifier::new(key.expect("a private key"), Duration::from_secs(10), padding)
}

fn users() -> Users {
    Users::parse(&format!("alice,{ALICE}\n")).expect("users")
}

fn alice() -> UserName {
    UserName::new("alice").expect("a name")
}

/// The token of any bytes: the crate itself seals no form but its own.
fn sealed(form: &[u8], padding: Padding) -> String {
    let pem = pem::parse(include_str!("fixtures/test-only-public.pem")).expect("PEM");
    let key = rsa::PublicKey::from_public_key_der(pem.contents()).expect("a public key");
    let sealed = match padding {
        Padding::Oaep => key.oaep_encrypt::<Sha1>(form),
        Padding::Pkcs1 => key.pkcs1v15_encrypt(form),
    };
    STANDARD.encode(sealed.expect("it fits the key"))
}

const TRUE_FORM: &[u8] = b"user: alice\npwd:  secret\nts:   1700000000";
const NOW_SECONDS: u64 = 1_700_000_000;
/// SHA-256 of `{alice}secret`.
const ALICE: &str = "27b307f21eb6137ab56a3c80a93a5db840e79a697f80f3381c87edaa79a83f6f";
/// Longest OAEP plaintext of a 2048-bit key with SHA-1, in bytes (RFC 8017, section 7.1.1).
const MOST_OAEP: usize = 256 - 2 * 20 - 2;
/// Longest PKCS1-v1_5 plaintext of a 2048-bit key, in bytes (RFC 8017, section 7.2.1).
const MOST_PKCS1: usize = 256 - 11;
