//! Tokens that OpenSSL and iperf3 made.

use linerate_authentication::{Padding, Refusal};

use crate::support::{NOW_SECONDS, fixture, users, verifier};

fn judge(token: &str, now_seconds: u64, padding: Padding) -> Result<String, Refusal> {
    let admitted = verifier(padding).verify(Some(token), now_seconds, &users());
    admitted.map(|user| user.to_string())
}

#[test]
fn openssls_tokens_are_admitted() {
    let oaep = judge(fixture!("openssl-oaep.token"), NOW_SECONDS, Padding::Oaep);
    assert_eq!(oaep.as_deref(), Ok("alice"));
    let pkcs1 = judge(fixture!("openssl-pkcs1.token"), NOW_SECONDS, Padding::Pkcs1);
    assert_eq!(pkcs1.as_deref(), Ok("alice"));
}

#[test]
fn iperf3s_tokens_are_admitted() {
    let older = judge(fixture!("iperf3-3.12-pkcs1.token"), 1_795_304_837, Padding::Pkcs1);
    assert_eq!(older.as_deref(), Ok("alice"));
    let newer = judge(fixture!("iperf3-3.21-oaep.token"), 1_795_304_952, Padding::Oaep);
    assert_eq!(newer.as_deref(), Ok("alice"));
}

#[test]
fn what_cannot_be_read_is_a_wrong_password() {
    let unreadable = [
        (fixture!("openssl-pkcs1.token"), Padding::Oaep),
        (fixture!("openssl-oaep.token"), Padding::Pkcs1),
        (fixture!("openssl-oaep-sha256.token"), Padding::Oaep),
        (fixture!("openssl-no-form.token"), Padding::Oaep),
        (fixture!("openssl-unknown-user.token"), Padding::Oaep),
        (fixture!("openssl-wrong-password.token"), Padding::Oaep),
    ];
    for (token, padding) in unreadable {
        assert_eq!(judge(token, NOW_SECONDS, padding), Err(Refusal::WrongPassword), "{token}");
    }
}
