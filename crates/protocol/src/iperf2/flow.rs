//! One UDP flow at its receiver (sections 4 and 5): what came is counted, and the end is answered.

use std::time::Duration;

use measurement::Timestamp;

use super::report::ServerReport;
use super::sequence::{Datagram, SequenceWidth};
use super::transit::Transits;
use super::word;

/// State machine of the receiver of one UDP flow (sections 4 and 5 of docs/protocol/iperf2.md).
#[derive(Clone, Debug)]
pub struct Flow {
    width: SequenceWidth,
    began: Timestamp,
    last: Timestamp,
    bytes: u64,
    received: u64,
    highest: u64,
    /// Whether the first number is 0, and not 1.
    has_zero: bool,
    reordered: u64,
    transit: Option<i128>,
    jitter_nanos: u64,
    /// Time of day less the time of the clock of `now`.
    epoch: Duration,
    /// Times on the way; none: the client does not ask for them.
    transits: Option<Transits>,
    /// Whether only numbers above the highest are counted.
    ignores_repeated: bool,
    ended: Option<ServerReport>,
    /// Answers to its end.
    answers: u32,
}

/// What came of a datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowEvent {
    /// It is payload, and was counted.
    Counted,
    /// The client has ended the flow, now or before: this is to be sent to it.
    Answer(Vec<u8>),
    /// It is none of this flow, or came after its end.
    Ignored,
}

impl Flow {
    /// Begins a flow at the datagram that came `now`; none: no flow begins like that (clause 4.4). `epoch`
    /// is the time of day less the time of the clock of `now`.
    pub fn begin(payload: &[u8], now: Timestamp, epoch: Duration) -> Option<Self> {
        let width = SequenceWidth::told(payload);
        let first = Datagram::read(width, payload).filter(|_| !is_report(payload))?;
        let is_whole = payload.len() >= LEAST && (0..=FARTHEST_START).contains(&first.sequence);
        is_whole.then_some(Self {
            width,
            began: now,
            last: now,
            bytes: 0,
            received: 0,
            highest: 0,
            has_zero: false,
            reordered: 0,
            transit: None,
            jitter_nanos: 0,
            epoch,
            transits: asks_for_times(payload).then(Transits::default),
            ignores_repeated: false,
            ended: None,
            answers: 0,
        })
    }

    /// Whether to ignore datagrams whose numbers are not above all before: some may come twice.
    pub const fn ignore_repeated(&mut self, ignores: bool) {
        self.ignores_repeated = ignores;
    }

    /// Takes a datagram that came `now`.
    pub fn handle(&mut self, payload: &[u8], now: Timestamp) -> FlowEvent {
        let datagram = Datagram::read(self.width, payload).filter(|_| !is_report(payload));
        let Some(datagram) = datagram else { return FlowEvent::Ignored };
        if datagram.sequence < 0 {
            if self.answers == MOST_ANSWERS {
                return FlowEvent::Ignored;
            }
            self.answers += 1;
            let report = self.end(datagram.sequence.unsigned_abs());
            return FlowEvent::Answer(report.answer(self.width, payload));
        }
        let is_repeated = self.received > 0 && datagram.sequence.unsigned_abs() <= self.highest;
        if self.ended.is_some() || self.ignores_repeated && is_repeated {
            return FlowEvent::Ignored;
        }
        self.count(datagram, payload.len() as u64, now);
        FlowEvent::Counted
    }

    fn count(&mut self, datagram: Datagram, length: u64, now: Timestamp) {
        let sequence = datagram.sequence.unsigned_abs();
        self.bytes = self.bytes.saturating_add(length);
        self.received += 1;
        self.has_zero |= sequence == 0;
        self.last = now;
        self.reordered += u64::from(sequence < self.highest);
        self.highest = self.highest.max(sequence);
        let arrived = i128::from(now.nanos());
        if let Some(transits) = &mut self.transits {
            let arrived = self.epoch + Duration::from_nanos(now.nanos());
            transits.add(micros(arrived) - micros(datagram.sent));
        }
        let transit = arrived - i128::try_from(datagram.sent.as_nanos()).unwrap_or(arrived);
        if let Some(before) = self.transit.replace(transit) {
            let change = u64::try_from((transit - before).unsigned_abs()).unwrap_or(u64::MAX);
            // RFC 3550, section 6.4.1.
            self.jitter_nanos = if change > self.jitter_nanos {
                self.jitter_nanos + (change - self.jitter_nanos) / JITTER_GAIN
            } else {
                self.jitter_nanos - (self.jitter_nanos - change) / JITTER_GAIN
            };
        }
    }

    /// Ends the flow; the last datagram of payload had the number before `last`.
    fn end(&mut self, last: u64) -> ServerReport {
        // A client that claims more than could have come so soon is not believed.
        let credible = self.highest.saturating_add(MOST_LOST_AT_END);
        if self.ended.is_none() && last <= credible {
            self.highest = self.highest.max(last.saturating_sub(1));
        }
        let report = self.report();
        *self.ended.get_or_insert(report)
    }

    /// What has come so far, or in all once the flow has ended.
    pub fn report(&self) -> ServerReport {
        let datagrams = self.highest.saturating_add(self.has_zero.into());
        self.ended.unwrap_or(ServerReport {
            bytes: self.bytes,
            span: self.last.since(self.began),
            lost: datagrams.saturating_sub(self.received),
            reordered: self.reordered,
            datagrams,
            jitter: Duration::from_nanos(self.jitter_nanos),
            transit: self.transits.as_ref().map(Transits::read),
        })
    }

    /// Datagrams that were received.
    pub const fn received(&self) -> u64 {
        self.received
    }

    /// Whether the client has ended the flow.
    pub const fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// When the last datagram of payload came, on the clock of `now`.
    pub const fn last(&self) -> Timestamp {
        self.last
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

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

const EXTENDED: u32 = 0x4000_0000;
const TRIP_TIMES: u32 = 0x0010;
/// Shortest datagram that begins a flow, in bytes.
const LEAST: usize = 16;
/// The first datagrams may be lost; an old flow is not begun anew (clause 4.4).
const FARTHEST_START: i64 = 10_000;
const JITTER_GAIN: u64 = 16;
/// A client sends the end of its flow up to ten times (clause 4.5).
const MOST_ANSWERS: u32 = 10;
/// Datagrams that may have been lost between the last that came and the end.
const MOST_LOST_AT_END: u64 = 1 << 32;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(1).after(Duration::from_millis(millis))
    }

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
    fn loss_and_order_are_counted_and_each_end_has_the_same_answer() {
        let first = datagram(1, 0);
        let mut flow = Flow::begin(&first, at(0), Duration::ZERO).expect("a flow");
        for (sequence, millis) in [(1, 0), (2, 10), (5, 20), (4, 30)] {
            let came = flow.handle(&datagram(sequence, millis), at(millis.into()));
            assert_eq!(came, FlowEvent::Counted);
        }
        assert!(!flow.has_ended());
        let answer = flow.handle(&datagram(-7, 40), at(40));
        assert_eq!(flow.handle(&datagram(8, 50), at(50)), FlowEvent::Ignored);
        let report = flow.report();
        assert_eq!((report.datagrams, report.lost, report.reordered), (6, 2, 1));
        assert_eq!((report.bytes, report.span), (800, Duration::from_millis(30)));
        assert_eq!(report.jitter, Duration::ZERO, "each took the same time");
        let FlowEvent::Answer(bytes) = answer else { panic!("no answer: {answer:?}") };
        assert_eq!(bytes.len(), 128);
        assert_eq!(flow.handle(&datagram(-7, 40), at(900)), FlowEvent::Answer(bytes));
    }

    #[test]
    fn numbers_of_old_clients_begin_with_zero() {
        let mut flow = Flow::begin(&datagram(0, 1), at(0), Duration::ZERO).expect("a flow");
        for sequence in [0, 1, 3] {
            flow.handle(&datagram(sequence, 1), at(1));
        }
        _ = flow.handle(&datagram(-5, 1), at(2));
        let report = flow.report();
        assert_eq!((report.datagrams, report.lost), (5, 2));
    }

    #[test]
    fn the_end_of_an_old_flow_begins_none() {
        for sequence in [-1, i64::MIN, i64::MAX, 20_000] {
            assert!(
                Flow::begin(&datagram(sequence, 0), at(0), Duration::ZERO).is_none(),
                "{sequence}"
            );
        }
        assert!(Flow::begin(&[0; 12], at(0), Duration::ZERO).is_none());
    }

    #[test]
    fn a_report_is_no_part_of_a_flow() {
        let mut flow = Flow::begin(&datagram(1, 1), at(0), Duration::ZERO).expect("a flow");
        _ = flow.handle(&datagram(1, 1), at(0));
        let FlowEvent::Answer(report) = flow.handle(&datagram(-2, 2), at(1)) else {
            panic!("no report")
        };
        let before = flow.report();
        assert_eq!(flow.handle(&report, at(2)), FlowEvent::Ignored);
        assert_eq!(flow.report(), before);
        assert!(Flow::begin(&report, at(2), Duration::ZERO).is_none());
        let mut another = Flow::begin(&datagram(1, 1), at(0), Duration::ZERO).expect("a flow");
        assert_eq!(another.handle(&report, at(2)), FlowEvent::Ignored);
    }

    #[test]
    fn the_end_of_a_flow_is_answered_as_often_as_a_client_sends_it() {
        let mut flow = Flow::begin(&datagram(1, 1), at(0), Duration::ZERO).expect("a flow");
        let answers = (0..20)
            .filter(|_| matches!(flow.handle(&datagram(-2, 2), at(1)), FlowEvent::Answer(_)));
        assert_eq!(answers.count(), 10);
    }

    #[test]
    fn wild_numbers_do_no_harm() {
        let mut flow = Flow::begin(&datagram(1, 0), at(0), Duration::ZERO).expect("a flow");
        for sequence in [i64::MAX, 0, 1] {
            _ = flow.handle(&datagram(sequence, 999), at(0));
        }
        _ = flow.handle(&datagram(i64::MIN, 1), at(0));
        assert!(flow.has_ended());
    }
}
