//! What an end of a connection with a key can be sent before and after both have proved it: without the
//! key nothing passes, and behind a proof that is right nothing that has no right code.

use crate::memory;
use protocol::iperf3::Cookie;
use protocol::keyed::{KeyedClient, KeyedHost, Seal};
use protocol::tuning::SharedKey;

/// Judges one input.
pub(super) fn run(input: &[u8]) {
    let Some((piece, bytes)) = input.split_first() else { return };
    let piece = usize::from(*piece).max(1);
    memory::bounded(bytes.len(), || {
        without_key(bytes, piece);
        in_place_of_the_cookie(bytes, piece);
        behind_the_proof(bytes, piece);
        between_both(bytes, piece);
    });
}

/// Nobody without the key is taken for one who has it.
fn without_key(bytes: &[u8], piece: usize) {
    assert!(!reads_cookie(KeyedHost::new(&key(), [2; 32]), bytes, piece));
    let mut client = KeyedClient::new(&key(), [1; 32]);
    for bytes in bytes.chunks(piece) {
        match client.receive(bytes) {
            Ok(seal) => assert!(seal.is_none()),
            Err(_) => break,
        }
    }
}

/// A cookie without a right code is none.
fn in_place_of_the_cookie(bytes: &[u8], piece: usize) {
    let (host, _) = proved();
    assert!(!reads_cookie(host, bytes, piece));
}

/// Gives a host the bytes, no more at one time than it has room for; whether it took a cookie from them.
fn reads_cookie(mut host: KeyedHost, mut bytes: &[u8], piece: usize) -> bool {
    while !bytes.is_empty() {
        let room = host.room();
        assert!((1..=MOST_ROOM).contains(&room), "{room}");
        let (now, later) = bytes.split_at(bytes.len().min(room).min(piece));
        match host.receive(now) {
            Ok(None) => bytes = later,
            Ok(Some(_)) => return true,
            Err(_) => break,
        }
    }
    false
}

/// Bytes behind a proof that is right have no code that is, at either end.
fn behind_the_proof(bytes: &[u8], piece: usize) {
    let (host, client) = opened();
    for mut seal in [host, client] {
        for bytes in bytes.chunks(piece) {
            match seal.open(bytes) {
                Ok(opened) => assert!(opened.is_empty()),
                Err(_) => break,
            }
        }
    }
}

/// What one end sends the other one reads, in whatever pieces it comes.
fn between_both(bytes: &[u8], piece: usize) {
    let (mut host, mut client) = opened();
    let mut read = Vec::new();
    for bytes in client.seal(bytes).chunks(piece) {
        read.extend(host.open(bytes).expect("a right code"));
    }
    assert_eq!(read, bytes);
}

/// Both ends, when the host has proved the key to the client.
fn proved() -> (KeyedHost, Seal) {
    let mut host = KeyedHost::new(&key(), [2; 32]);
    let mut client = KeyedClient::new(&key(), [1; 32]);
    _ = client.take_output();
    assert!(client.receive(&host.take_output()).is_ok_and(|seal| seal.is_none()));
    let proof = client.take_output();
    assert_eq!(proof.len(), host.room());
    assert!(host.receive(&proof).is_ok_and(|keyed| keyed.is_none()));
    let seal = client.receive(&host.take_output());
    (host, seal.ok().flatten().expect("both have the key"))
}

/// The codes of both ends behind the cookie.
fn opened() -> (Seal, Seal) {
    let (mut host, mut client) = proved();
    let cookie = Cookie::from_random([7; Cookie::LENGTH - 1]);
    let keyed = host.receive(&client.seal(cookie.as_bytes()));
    let (read, seal) = keyed.ok().flatten().expect("the cookie");
    assert_eq!(read, cookie);
    (seal, client)
}

fn key() -> SharedKey {
    SharedKey::parse("0123456789abcdef0123456789abcdef").expect("a key")
}

/// A cookie, its length and its code.
const MOST_ROOM: usize = 2 + Cookie::LENGTH + 32;
