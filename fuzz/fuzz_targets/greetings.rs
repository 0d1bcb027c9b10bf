//! What opens a connection or a UDP stream: cookies, hellos, answers to them, states.

#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_fuzz::memory;
use linerate_protocol::iperf3::{Cookie, Hello, State, is_reply};

fuzz_target!(|bytes: &[u8]| memory::bounded(bytes.len(), || judge(bytes)));

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
    for byte in bytes {
        let state = State::from_byte(*byte);
        assert!(state.is_none_or(|state| state.byte() == *byte));
    }
}
