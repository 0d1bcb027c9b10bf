//! Who is admitted, and what the others are told.

#![expect(clippy::disallowed_methods, reason = "a test starts threads")]

use std::thread;

use linerate_authentication::{
    Clock, Padding, PrivateKey, Refusal, TokenVerifier, UserName, Users,
};

use crate::support::{ALICE, NOW_SECONDS, SKEW, alices_token, fixture, token_of, users, verifier};

fn alice() -> UserName {
    UserName::new("alice").expect("a name")
}

/// What a verifier that admitted nobody yet says of a token.
fn judge(token: &str, now_seconds: u64) -> Result<UserName, Refusal> {
    verifier(Padding::Oaep).verify(Some(token), now_seconds, &users())
}

#[test]
fn who_knows_the_password_is_admitted() {
    for padding in [Padding::Oaep, Padding::Pkcs1] {
        let token = token_of("alice", "secret", NOW_SECONDS, padding);
        let admitted = verifier(padding).verify(Some(&token), NOW_SECONDS, &users());
        assert_eq!(admitted, Ok(alice()), "{padding:?}");
    }
}

#[test]
fn who_sends_nothing_is_not() {
    let refused = verifier(Padding::Oaep).verify(None, NOW_SECONDS, &users());
    assert_eq!(refused, Err(Refusal::NoToken));
    assert_eq!(judge("", NOW_SECONDS), Err(Refusal::EmptyToken));
}

#[test]
fn a_token_that_cannot_be_of_this_key_is_malformed() {
    let token = alices_token();
    let malformed = [&token[..token.len() - 4], &token[1..], &"A".repeat(1 << 20), "\u{1f512}"];
    for token in malformed {
        assert_eq!(judge(token, NOW_SECONDS), Err(Refusal::Malformed));
    }
}

#[test]
fn another_servers_token_is_a_wrong_password() {
    let key = PrivateKey::from_pem(fixture!("test-only-other-private.pem")).expect("a key");
    let refused = TokenVerifier::new(key, SKEW, Padding::Oaep).verify(
        Some(&alices_token()),
        NOW_SECONDS,
        &users(),
    );
    assert_eq!(refused, Err(Refusal::WrongPassword));
}

#[test]
fn nobody_learns_which_names_exist_or_what_a_token_holds() {
    let long_ago = NOW_SECONDS - 1_000;
    let wrong = [
        token_of("alice", "wrong", NOW_SECONDS, Padding::Oaep),
        token_of("bob", "secret", NOW_SECONDS, Padding::Oaep),
        token_of("alice", "wrong", long_ago, Padding::Oaep),
        token_of("alice", "secret", NOW_SECONDS, Padding::Pkcs1),
        token_of("nobody", "password", NOW_SECONDS, Padding::Oaep),
    ];
    let verifier = verifier(Padding::Oaep);
    for token in wrong.iter().chain(&wrong) {
        let refused = verifier.verify(Some(token), NOW_SECONDS, &users());
        assert_eq!(refused, Err(Refusal::WrongPassword));
    }
}

#[test]
fn what_cannot_be_read_is_refused_even_if_the_decoys_account_exists() {
    // SHA-256 of {nobody}password.
    let nobody = "dde08bcc31a2ce803dfcfc02e749163244ed47d00916c2f1a3acfd56edf6ade7";
    let users = Users::parse(&format!("nobody,{nobody}")).expect("users");
    let unreadable = fixture!("openssl-pkcs1.token");
    let refused = verifier(Padding::Oaep).verify(Some(unreadable), NOW_SECONDS, &users);
    assert_eq!(refused, Err(Refusal::WrongPassword));
    let readable = token_of("nobody", "password", NOW_SECONDS, Padding::Oaep);
    assert!(verifier(Padding::Oaep).verify(Some(&readable), NOW_SECONDS, &users).is_ok());
}

#[test]
fn clocks_may_differ_by_the_skew_and_no_more() {
    let token = alices_token();
    for now_seconds in [NOW_SECONDS - 10, NOW_SECONDS + 10] {
        assert_eq!(judge(&token, now_seconds), Ok(alice()));
    }
    let skew = |clock, seconds| {
        let difference = std::time::Duration::from_secs(seconds);
        Err(Refusal::Skew { user: alice(), clock, difference, limit: SKEW })
    };
    assert_eq!(judge(&token, NOW_SECONDS - 11), skew(Clock::AheadOf, 11));
    assert_eq!(judge(&token, NOW_SECONDS + 11), skew(Clock::Behind, 11));
    assert_eq!(judge(&token, u64::MAX), skew(Clock::Behind, u64::MAX - NOW_SECONDS));
    assert_eq!(judge(&token, 0), skew(Clock::AheadOf, NOW_SECONDS));
}

#[test]
fn a_token_admits_once() {
    let verifier = verifier(Padding::Oaep);
    let token = alices_token();
    let replay = Err(Refusal::Replay { user: alice() });
    assert_eq!(verifier.verify(Some(&token), NOW_SECONDS - 5, &users()), Ok(alice()));
    for now_seconds in [NOW_SECONDS - 10, NOW_SECONDS, NOW_SECONDS + 10] {
        assert_eq!(verifier.verify(Some(&token), now_seconds, &users()), replay);
    }
    let late = verifier.verify(Some(&token), NOW_SECONDS + 11, &users());
    assert!(matches!(late, Err(Refusal::Skew { .. })));
}

#[test]
fn two_tokens_of_one_second_both_admit() {
    let verifier = verifier(Padding::Oaep);
    for token in [alices_token(), alices_token()] {
        assert_eq!(verifier.verify(Some(&token), NOW_SECONDS, &users()), Ok(alice()));
    }
}

#[test]
fn a_token_that_was_refused_may_come_again() {
    let verifier = verifier(Padding::Oaep);
    let token = alices_token();
    let nobody = Users::parse("").expect("users");
    let refused = verifier.verify(Some(&token), NOW_SECONDS, &nobody);
    assert_eq!(refused, Err(Refusal::WrongPassword));
    assert_eq!(verifier.verify(Some(&token), NOW_SECONDS, &users()), Ok(alice()));
}

#[test]
fn of_many_threads_with_one_token_one_is_admitted() {
    let verifier = verifier(Padding::Oaep);
    let (token, users) = (alices_token(), users());
    let admitted = thread::scope(|scope| {
        let judge = || verifier.verify(Some(&token), NOW_SECONDS, &users).is_ok();
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(judge)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("a judgement"))
            .filter(|ok| *ok)
            .count()
    });
    assert_eq!(admitted, 1);
}

#[test]
fn no_refusal_shows_password_or_token() {
    let verifier = verifier(Padding::Oaep);
    let token = alices_token();
    let text = |refused: Result<_, Refusal>| {
        let refusal = refused.expect_err("a refusal");
        format!("{refusal} {refusal:?}")
    };
    let late = text(verifier.verify(Some(&token), NOW_SECONDS + 60, &users()));
    verifier.verify(Some(&token), NOW_SECONDS, &users()).expect("admitted");
    let again = text(verifier.verify(Some(&token), NOW_SECONDS, &users()));
    for text in [late, again] {
        assert!(text.contains("alice"), "{text}");
        for secret in ["secret", &token[..8], &ALICE[..8]] {
            assert!(!text.contains(secret), "{text}");
        }
    }
}
