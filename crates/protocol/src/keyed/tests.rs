//! Both ends of a connection with a key: handshake, codes, and what each refuses.

use super::*;
use crate::tuning::{ClientSide, HostSide};

fn key(letter: &str) -> SharedKey {
    SharedKey::parse(&letter.repeat(32)).expect("a key")
}

const COOKIE: [u8; Cookie::LENGTH] = [b'c'; Cookie::LENGTH];

/// Both ends after the handshake, and what the client sent for it after the greeting.
fn joined(server: Nonce) -> (Seal, Seal, Vec<u8>) {
    let mut client = KeyedClient::new(&key("k"), [1; CODE]);
    let mut host = KeyedHost::new(&key("k"), server);
    assert_eq!(client.take_output(), GREETING);
    assert!(client.receive(&host.take_output()).expect("a nonce").is_none());
    let proof = client.take_output();
    assert_eq!(proof.len(), host.room());
    assert!(host.receive(&proof).expect("a proof").is_none());
    let mut own = client.receive(&host.take_output()).expect("a proof").expect("both have it");
    let sealed = own.seal(&COOKIE);
    let (cookie, theirs) = host.receive(&sealed).expect("sealed").expect("a cookie");
    assert_eq!(*cookie.as_bytes(), COOKIE);
    (own, theirs, [proof, sealed].concat())
}

#[test]
fn both_ends_prove_the_key_and_carry_bytes_of_any_length() {
    let (mut client, mut host, _) = joined([2; CODE]);
    let long: Vec<u8> = (0..100_000_u32).map(|byte| byte.to_le_bytes()[0]).collect();
    let sealed = client.seal(&long);
    let mut came = Vec::new();
    for piece in sealed.chunks(1_000) {
        came.extend(host.open(piece).expect("unchanged"));
    }
    assert_eq!(came, long);
    assert_eq!(client.open(&host.seal(b"answer")).expect("unchanged"), b"answer");
    assert!(client.seal(&[]).is_empty());
}

#[test]
fn whoever_has_another_key_or_none_is_found_out_by_either_end() {
    let mut client = KeyedClient::new(&key("a"), [1; CODE]);
    let mut host = KeyedHost::new(&key("b"), [2; CODE]);
    client.receive(&host.take_output()).expect("a nonce");
    _ = client.take_output().drain(..GREETING.len());
    let proof = client.take_output();
    assert_eq!(host.receive(&proof[..0]).map(|one| one.is_some()), Ok(false));
    let mut client = KeyedClient::new(&key("a"), [1; CODE]);
    _ = client.take_output();
    let mut host = KeyedHost::new(&key("b"), [2; CODE]);
    client.receive(&host.take_output()).expect("a nonce");
    assert_eq!(host.receive(&client.take_output()).err(), Some(KeyedError::OtherKey));
    assert_eq!(client.closed(), KeyedError::OtherKey);
    // One that pretends to have it.
    let forged = [&[GO_ON][..], &[7; CODE]].concat();
    assert_eq!(client.receive(&forged).err(), Some(KeyedError::OtherKey));
    for first in [9, 255] {
        let mut client = KeyedClient::new(&key("a"), [1; CODE]);
        assert_eq!(client.receive(&[first]).err(), Some(KeyedError::NoKey), "an iperf3");
    }
    let mut client = KeyedClient::new(&key("a"), [1; CODE]);
    assert_eq!(client.receive(&[BUSY]).err(), Some(KeyedError::Busy));
}

#[test]
fn what_was_sent_on_one_connection_is_refused_on_the_next() {
    let (_, _, recorded) = joined([2; CODE]);
    let mut next = KeyedHost::new(&key("k"), [3; CODE]);
    let proof = &recorded[..next.room()];
    assert_eq!(next.receive(proof).err(), Some(KeyedError::OtherKey), "a replay");
}

#[test]
fn a_message_that_is_changed_replayed_reflected_or_left_out_is_refused() {
    let refused = |bytes: &[u8], host: &mut Seal| host.open(bytes).err();
    let (mut client, mut host, _) = joined([2; CODE]);
    let (first, second) = (client.seal(b"one"), client.seal(b"two"));
    assert_eq!(refused(&second, &mut host), Some(KeyedError::Forged), "out of order");
    let (mut client, mut host, _) = joined([2; CODE]);
    assert_eq!(client.seal(b"one"), first, "the same connection");
    assert_eq!(host.open(&first).as_deref(), Ok(b"one".as_slice()));
    assert_eq!(refused(&first, &mut host), Some(KeyedError::Forged), "replayed");
    for bit in 0..first.len() * 8 {
        let (_, mut host, _) = joined([2; CODE]);
        let mut changed = first.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert!(host.open(&changed).map_or(true, |bytes| bytes.is_empty()), "bit {bit}");
    }
    let (mut client, mut host, _) = joined([2; CODE]);
    let own = host.seal(b"one");
    assert_eq!(refused(&own, &mut host), Some(KeyedError::Forged), "reflected");
    assert!(client.open(&own).is_ok());
}

#[test]
fn a_proof_for_a_tuning_is_none_for_a_test_with_the_same_key() {
    let mut tuner = ClientSide::new(&key("k"), [1; CODE]);
    _ = tuner.take_output();
    let mut host = KeyedHost::new(&key("k"), [2; CODE]);
    tuner.receive(&host.take_output()).expect("a nonce");
    assert_eq!(host.receive(&tuner.take_output()).err(), Some(KeyedError::OtherKey));
    let now = measurement::Timestamp::from_nanos(1);
    let mut other_host = HostSide::new(&key("k"), [2; CODE], now);
    let mut client = KeyedClient::new(&key("k"), [1; CODE]);
    _ = client.take_output();
    client.receive(&other_host.take_output()).expect("a nonce");
    assert!(other_host.receive(&client.take_output(), now).is_err());
}

#[test]
fn before_the_key_is_proved_no_more_is_read_than_the_proof() {
    let mut host = KeyedHost::new(&key("k"), [2; CODE]);
    assert_eq!(host.room(), 64);
    assert!(host.receive(&[0; 63]).expect("not complete").is_none());
    assert_eq!(host.room(), 1);
    assert!(host.receive(&[0; 1]).is_err());
}
