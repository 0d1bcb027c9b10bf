//! What opens a connection or a UDP stream: cookies, hellos, answers to them, states.

use crate::memory;
use measurement::Timestamp;
use protocol::iperf3::{Cookie, Greeting, GreetingEvent, Hello, State, is_reply};

/// Judges one input.
pub(super) fn run(bytes: &[u8]) {
    memory::bounded(bytes.len(), || judge(bytes));
}

fn judge(bytes: &[u8]) {
    if let Some(hello) = Hello::recognise(bytes) {
        assert_eq!(hello.to_bytes(), bytes);
        assert!(!is_reply(bytes), "a hello is no answer: two servers would talk for ever");
        let reply = hello.reply();
        assert!(is_reply(&reply));
        assert!(Hello::recognise(&reply).is_none(), "nor is an answer a hello");
        assert!(reply.len() <= bytes.len(), "a forged source address gains nothing");
    }
    if let Some(cookie) = bytes.first_chunk() {
        let text = Cookie::from_wire(*cookie).text();
        assert!(text.len() <= Cookie::LENGTH);
        assert!(text.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{text:?}");
    }
    greet(bytes);
    for byte in bytes {
        let state = State::from_byte(*byte);
        assert!(state.is_none_or(|state| state.byte() == *byte));
    }
}

/// The first bytes of a connection, in pieces of each length: the same comes of them.
fn greet(bytes: &[u8]) {
    let whole = numbered(bytes, usize::MAX);
    for length in [1, 5, Cookie::LENGTH] {
        assert_eq!(numbered(bytes, length), whole);
    }
}

/// What comes of a stream that is to send its number, and how many bytes that took.
fn numbered(bytes: &[u8], length: usize) -> (Option<GreetingEvent>, usize) {
    let (mut greeting, mut event, mut taken) = (Greeting::new(Timestamp::default()), None, 0);
    while greeting.room() > 0 && taken < bytes.len() {
        let end = bytes.len().min(taken + greeting.room().min(length));
        event = greeting.handle_bytes(&bytes[taken..end]).or(event);
        taken = end;
        greeting.await_number(Timestamp::default());
    }
    assert!(taken <= Cookie::LENGTH + Cookie::INDEX_LENGTH);
    (event, taken)
}
