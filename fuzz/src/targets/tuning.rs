//! What a client that is to tune a host can send, with the key and without it, and what a host can
//! answer, in pieces of any size.

use crate::memory;
use measurement::{Timestamp, json};
use protocol::tuning::{Answer, ClientSide, HostSide, Request, SharedKey};

/// Judges one input.
pub(super) fn run(input: &[u8]) {
    let Some((piece, bytes)) = input.split_first() else { return };
    let piece = usize::from(*piece).max(1);
    memory::bounded(bytes.len(), || {
        without_key(bytes, piece);
        with_key(bytes, piece);
        as_text(bytes);
    });
}

/// Nobody without the key gets a request through.
fn without_key(bytes: &[u8], piece: usize) {
    let mut host = HostSide::new(&key(), [2; 32], Timestamp::default());
    for bytes in bytes.chunks(piece) {
        match host.receive(bytes, Timestamp::default()) {
            Ok(requests) => assert!(requests.is_empty() && !host.is_proved()),
            Err(_) => break,
        }
    }
    let mut client = ClientSide::new(&key(), [1; 32]);
    for bytes in bytes.chunks(piece) {
        match client.receive(bytes) {
            Ok(answers) => assert!(answers.is_empty() && !client.is_open()),
            Err(_) => break,
        }
    }
}

/// Bytes behind a proof that is right have no code that is.
fn with_key(bytes: &[u8], piece: usize) {
    let mut host = HostSide::new(&key(), [2; 32], Timestamp::default());
    let mut client = ClientSide::new(&key(), [1; 32]);
    _ = client.take_output();
    _ = client.receive(&host.take_output());
    let proof = client.take_output();
    assert_eq!(host.receive(&proof, Timestamp::default()), Ok(Vec::new()));
    assert_eq!(client.receive(&host.take_output()), Ok(Vec::new()));
    assert!(host.is_proved() && client.is_open());
    for bytes in bytes.chunks(piece) {
        match host.receive(bytes, Timestamp::default()) {
            Ok(requests) => assert!(requests.is_empty()),
            Err(_) => break,
        }
    }
    for bytes in bytes.chunks(piece) {
        match client.receive(bytes) {
            Ok(answers) => assert!(answers.is_empty()),
            Err(_) => break,
        }
    }
}

/// A message with a right code is read as it was meant.
fn as_text(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(request) = Request::read(text) {
        assert_eq!(Request::read(&written(json::text(&request))), Ok(request));
    }
    if let Ok(answer) = Answer::read(text) {
        assert_eq!(Answer::read(&written(json::text(&answer))), Ok(answer));
    }
}

fn written(text: Vec<u8>) -> String {
    String::from_utf8(text).expect("JSON is text")
}

fn key() -> SharedKey {
    SharedKey::parse("0123456789abcdef0123456789abcdef").expect("a key")
}
