//! The receiver's memory of sequence numbers, beside one that is simple and slow.

use std::collections::BTreeSet;

use dataplane::udp::Sequence;
use protocol::iperf3::{CounterWidth, Header};

/// Plays the headers of an input's datagrams, as a receiver takes them.
pub(crate) fn play(width: CounterWidth, headers: &[u8]) {
    let mut tracker = Sequence::default();
    let mut model = Model::default();
    for header in headers.chunks_exact(width.header_length()) {
        let header = Header::read(width, header).expect("as long as a header");
        let number = match width {
            CounterWidth::Bits32 => tracker.widen(low_half(header.sequence)),
            CounterWidth::Bits64 => header.sequence,
        };
        let arrival = format!("{:?}", tracker.record(number));
        assert_eq!(arrival, model.record(number), "{number} after {}", model.highest);
        assert_eq!(tracker.highest(), model.highest);
    }
}

fn low_half(sequence: u64) -> u32 {
    u32::try_from(sequence).expect("a narrow counter has 32 bits")
}

#[derive(Default)]
struct Model {
    highest: u64,
    seen: BTreeSet<u64>,
}

impl Model {
    fn record(&mut self, number: u64) -> &'static str {
        if number > self.highest {
            if number - self.highest > LONGEST_GAP {
                return "Absurd";
            }
            self.highest = number;
            self.seen.insert(number);
            return "New";
        }
        if number == 0 || self.highest - number >= WINDOW {
            return "Late";
        }
        if self.seen.insert(number) { "Reordered" } else { "Duplicate" }
    }
}

const LONGEST_GAP: u64 = 1 << 32;
const WINDOW: u64 = 1 << 16;
