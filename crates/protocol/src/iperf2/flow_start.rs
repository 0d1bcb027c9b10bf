//! How a UDP flow begins, and what its datagrams are to a receiver (sections 4 and 5).

use std::time::Duration;

use super::report::ServerReport;
use super::sequence::{Datagram, SequenceWidth};
use super::{Asks, Back, BackWay, word};

/// Format of the datagrams of a UDP flow, which its first datagram tells (clauses 4.2 to 4.4 of
/// docs/protocol/iperf2.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowStart {
    width: SequenceWidth,
    /// Whether the first number is 0, as that of old clients, and not 1.
    has_zero: bool,
    is_timed: bool,
    asks: Asks,
    rate: Option<u64>,
}

/// Kind of a datagram of a UDP flow: payload or the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowDatagram {
    /// Payload.
    Payload {
        /// Number of the datagram; the first of the flow is 1, whatever number the wire has for it.
        number: u64,
        /// Time of sending on the client's clock, since its epoch.
        sent: Duration,
    },
    /// The end of the flow (clause 4.5).
    End {
        /// Number of the last datagram: this one, if it counts as one of the flow.
        last: u64,
        /// Time of sending, if it counts.
        sent: Option<Duration>,
    },
    /// Neither.
    Other,
}

impl FlowStart {
    /// A flow that a server of 2.1+ sends as it was asked to.
    pub const OF_SERVER: Self = Self {
        width: SequenceWidth::Bits64,
        has_zero: false,
        is_timed: false,
        asks: Asks::Nothing,
        rate: None,
    };

    /// Recognises the first datagram of a flow; none: no flow begins like that (clause 4.4).
    pub fn recognise(payload: &[u8]) -> Option<Self> {
        let width = SequenceWidth::told(payload);
        let first = Datagram::read(width, payload).filter(|_| !is_report(payload))?;
        let is_whole = payload.len() >= LEAST && (0..=FARTHEST_START).contains(&first.sequence);
        let (has_zero, is_timed) = (first.sequence == 0, asks_for_times(payload));
        let (asks, rate) = Asks::in_datagram(payload);
        is_whole.then_some(Self { width, has_zero, is_timed, asks, rate })
    }

    /// What the client asks the server to send, and the rate in bit/s at which.
    pub const fn asks(&self) -> (Asks, Option<u64>) {
        (self.asks, self.rate)
    }

    /// Whether both ends send over the flow (`--full-duplex`), whose end is not answered (clause 4.10).
    pub const fn is_full_duplex(&self) -> bool {
        matches!(self.asks, Asks::Back(Back { way: BackWay::FullDuplex, .. }))
    }

    /// Whether the client asks how long its datagrams are on their way (`--trip-times`, clause 5.4).
    pub const fn is_timed(&self) -> bool {
        self.is_timed
    }

    /// Reads a further datagram of the flow.
    #[inline]
    pub fn read(&self, payload: &[u8]) -> FlowDatagram {
        let Some(Datagram { sequence, sent }) = Datagram::read(self.width, payload) else {
            return FlowDatagram::Other;
        };
        let number = sequence.unsigned_abs().saturating_add(self.has_zero.into());
        if sequence < 0 {
            let counts = self.width == SequenceWidth::Bits64;
            let last = if counts { number } else { number - 1 };
            FlowDatagram::End { last, sent: counts.then_some(sent) }
        } else if is_report(payload) {
            FlowDatagram::Other
        } else {
            FlowDatagram::Payload { number, sent }
        }
    }

    /// The answer to a datagram that ends the flow, of no more than `most` bytes
    /// ([`ServerReport::answer`]).
    pub fn answer(&self, report: &ServerReport, most: usize) -> Option<Vec<u8>> {
        report.answer(self.width, most)
    }
}

/// Whether a datagram has the header of a server's report, zeros (clause 5.1): no client sends at time 0.
fn is_report(payload: &[u8]) -> bool {
    payload.iter().take(SequenceWidth::Bits32.header_length()).all(|byte| *byte == 0)
}

/// Whether a datagram of 2.1+ has the flag of `--trip-times` (clause 3.6).
fn asks_for_times(payload: &[u8]) -> bool {
    let is_extended = word(payload, 16).is_some_and(|flags| flags & EXTENDED != 0);
    is_extended && word(payload, 48).is_some_and(|word| word >> 16 & TRIP_TIMES != 0)
}

const EXTENDED: u32 = 0x4000_0000;
const TRIP_TIMES: u32 = 0x0010;
/// Shortest datagram that begins a flow, in bytes.
const LEAST: usize = 16;
/// The first datagrams may be lost; an old flow is not begun anew (clause 4.4).
const FARTHEST_START: i64 = 10_000;

#[cfg(test)]
mod tests {
    use super::FlowDatagram::{End, Other, Payload};
    use super::*;

    fn datagram(sequence: i64, millis: u32) -> Vec<u8> {
        let mut bytes = vec![0; 200];
        let sequence = sequence.to_be_bytes();
        let (upper, lower) = sequence.split_at(4);
        bytes[..4].copy_from_slice(lower);
        bytes[8..12].copy_from_slice(&(millis * 1_000).to_be_bytes());
        bytes[12..16].copy_from_slice(upper);
        bytes[16..20].copy_from_slice(&0x4801_0098_u32.to_be_bytes());
        bytes
    }

    #[test]
    fn payload_and_ends_are_told_apart() {
        let start = FlowStart::recognise(&datagram(1, 1)).expect("a flow");
        assert!(!start.is_timed());
        let sent = Duration::from_millis(7);
        assert_eq!(start.read(&datagram(5, 7)), Payload { number: 5, sent });
        let end = |last| End { last, sent: Some(sent) };
        assert_eq!(start.read(&datagram(-7, 7)), end(7), "it is the last one");
        assert_eq!(start.read(&datagram(i64::MIN, 7)), end(1 << 63));
        assert_eq!(start.read(&[0; 3]), Other);
    }

    #[test]
    fn numbers_of_old_clients_begin_with_zero() {
        let start = FlowStart::recognise(&datagram(0, 1)).expect("a flow");
        let sent = Duration::from_millis(1);
        assert_eq!(start.read(&datagram(0, 1)), Payload { number: 1, sent });
        assert_eq!(start.read(&datagram(3, 1)), Payload { number: 4, sent });
        let narrow = |sequence: i32| {
            let mut bytes = [b'7'; 40];
            for (at, word) in [(0, sequence.cast_unsigned()), (4, 0), (8, 1_000)] {
                bytes[at..at + 4].copy_from_slice(&word.to_be_bytes());
            }
            bytes
        };
        let start = FlowStart::recognise(&narrow(0)).expect("a flow");
        assert_eq!(start.read(&narrow(-5)), End { last: 5, sent: None }, "0 to 4, and an end");
    }

    #[test]
    fn what_a_server_sends_is_read_and_asks_for_nothing() {
        // As 2.1.8 sends it, and linerate: digits follow the number.
        let mut bytes = *b"0123456789012345678901234567890123456789";
        bytes[..16].copy_from_slice(&[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 3, 232, 0, 0, 0, 0]);
        let start = FlowStart::recognise(&bytes).expect("a flow");
        assert_eq!((start, start.asks().0), (FlowStart::OF_SERVER, Asks::Nothing));
        assert_eq!(start.read(&bytes), Payload { number: 1, sent: Duration::from_millis(1) });
    }

    #[test]
    fn the_end_of_an_old_flow_begins_none() {
        for sequence in [-1, i64::MIN, i64::MAX, 20_000] {
            assert_eq!(FlowStart::recognise(&datagram(sequence, 0)), None, "{sequence}");
        }
        assert_eq!(FlowStart::recognise(&[0; 12]), None);
    }

    #[test]
    fn a_report_is_no_part_of_a_flow() {
        let start = FlowStart::recognise(&datagram(1, 1)).expect("a flow");
        let report = start.answer(&ServerReport::default(), 200).expect("there is room");
        assert_eq!((report.len(), start.read(&report)), (128, Other));
        assert_eq!(FlowStart::recognise(&report), None);
    }
}
