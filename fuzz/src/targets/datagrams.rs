//! The headers of a UDP stream's datagrams, and what a receiver makes of their numbers.
//!
//! The first byte of an input says how wide the counters are, by being odd or even.

use crate::{memory, sequence};
use protocol::iperf3::{CounterWidth, Header};

/// Judges one input.
pub(super) fn run(input: &[u8]) {
    memory::bounded(input.len(), || judge(input));
}

fn judge(input: &[u8]) {
    let Some((first, payload)) = input.split_first() else { return };
    let width = if first % 2 == 1 { CounterWidth::Bits64 } else { CounterWidth::Bits32 };
    assert_survives(width, payload);
    sequence::play(width, payload);
}

/// What a header says, another can say again.
fn assert_survives(width: CounterWidth, payload: &[u8]) {
    let Some(header) = Header::read(width, payload) else {
        return assert!(payload.len() < width.header_length());
    };
    let mut written = [0; 16];
    header.write(width, &mut written);
    let again = Header::read(width, &written).expect("a whole header");
    assert_eq!(again.sequence, header.sequence);
    let has_room = u32::try_from(header.sent.nanos() / 1_000_000_000).is_ok();
    assert!(again.sent == header.sent || !has_room);
}
