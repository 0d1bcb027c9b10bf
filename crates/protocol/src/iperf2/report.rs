//! The server's report at the end of a UDP flow (section 5).

use std::time::Duration;

use super::sequence::SequenceWidth;
use super::transit::{self, Transit};
use super::word;

/// Report of the receiver of a UDP flow (clause 5.3 of docs/protocol/iperf2.md).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerReport {
    /// Payload bytes received.
    pub bytes: u64,
    /// Time from the first to the last datagram.
    pub span: Duration,
    /// Datagrams that did not arrive.
    pub lost: u64,
    /// Datagrams that arrived after one with a higher sequence number.
    pub reordered: u64,
    /// Datagrams that the client sent, by the highest sequence number.
    pub datagrams: u64,
    /// Interarrival jitter (RFC 3550, section 6.4.1).
    pub jitter: Duration,
    /// Times on the way, by the clocks of both ends; none: they were not asked for (clause 5.4).
    pub transit: Option<Transit>,
}

impl ServerReport {
    /// The answer to a datagram that ends a flow: a header of zeros, and the report. It has no more than
    /// `most` bytes, and is itself no end of a flow, so that a forged address gains nothing (clause 5.5).
    /// None: what a client reads of a report has no room.
    pub fn answer(&self, width: SequenceWidth, most: usize) -> Option<Vec<u8>> {
        let mut answer = vec![0; width.header_length()];
        for word in self.words(width) {
            answer.extend(word.to_be_bytes());
        }
        // An iperf2 that reads a report reads a whole one.
        answer.resize(answer.len().max(WHOLE), 0);
        answer.truncate(most);
        let jitter = if width == SequenceWidth::Padded32 { PADDED_JITTER } else { JITTER };
        (answer.len() >= width.header_length() + 4 * (jitter + 2)).then_some(answer)
    }

    /// Reads the answer to the end of a flow; none: it is no report. Older servers answer wide numbers
    /// with narrow ones (clause 5.2), or leave the upper words out (clause 5.4).
    pub fn read(answer: &[u8]) -> Option<Self> {
        let widths = [SequenceWidth::Bits64, SequenceWidth::Bits32];
        widths.into_iter().find_map(|width| Self::after(width.header_length(), answer))
    }

    fn after(header: usize, answer: &[u8]) -> Option<Self> {
        let is_padded = header == SequenceWidth::Padded32.header_length();
        let at = |index: usize| word(answer, header + 4 * index).map(u64::from);
        let flags = at(0)?;
        if flags & u64::from(VERSION1) == 0 {
            return None;
        }
        let is_wide = flags & u64::from(SEQUENCE64) != 0;
        let is_extended = is_wide && flags & u64::from(EXTENDED) != 0;
        let wide = |low: usize, high: usize| {
            let high = if is_wide { at(high).unwrap_or(0) } else { 0 };
            Some(high << 32 | at(low)?)
        };
        let time = |seconds, micros| {
            Some(Duration::from_secs(at(seconds)?) + Duration::from_micros(at(micros)?))
        };
        Some(Self {
            bytes: at(1)? << 32 | at(2)?,
            span: time(3, 4)?,
            lost: wide(5, 25)?,
            reordered: wide(6, 26)?,
            datagrams: wide(7, 27)?,
            transit: if is_extended { transit(header, answer) } else { None },
            jitter: if is_padded && !is_wide { time(9, 10) } else { time(8, 9) }?,
        })
    }

    fn words(&self, width: SequenceWidth) -> [u32; 28] {
        let wide = if width == SequenceWidth::Bits64 { SEQUENCE64 } else { 0 };
        let mut words = [0; 28];
        words[0] = VERSION1 | wide;
        words[1] = high(self.bytes);
        words[2] = low(self.bytes);
        words[3] = low(self.span.as_secs());
        words[4] = self.span.subsec_micros();
        words[5] = low(self.lost);
        words[6] = low(self.reordered);
        words[7] = low(self.datagrams);
        let jitter = if width == SequenceWidth::Padded32 { PADDED_JITTER } else { JITTER };
        words[jitter] = low(self.jitter.as_secs());
        words[jitter + 1] = self.jitter.subsec_micros();
        if width == SequenceWidth::Bits64 {
            if let Some(transit) = &self.transit {
                words[0] |= EXTENDED;
                words[TRANSIT..TRANSIT + transit::WORDS].copy_from_slice(&transit.words());
                // Number and sum of the gaps, without which 2.1.8 shows no times.
                words[23] = transit.count;
                words[24] = low(self.span.as_secs().max(1));
            }
            words[25] = high(self.lost);
            words[26] = high(self.reordered);
            words[27] = high(self.datagrams);
        }
        words
    }
}

fn transit(header: usize, answer: &[u8]) -> Option<Transit> {
    let mut words = [0; transit::WORDS];
    for (index, place) in words.iter_mut().enumerate() {
        *place = word(answer, header + 4 * (TRANSIT + index))?;
    }
    Transit::read(&words)
}

#[expect(clippy::cast_possible_truncation, reason = "the wire has two words for it")]
const fn low(value: u64) -> u32 {
    value as u32
}

const fn high(value: u64) -> u32 {
    low(value >> 32)
}

const VERSION1: u32 = 0x8000_0000;
const EXTENDED: u32 = 0x4000_0000;
const SEQUENCE64: u32 = 0x0800_0000;
/// Index of the first word about times on the way.
const TRANSIT: usize = 10;
/// Index of the words of the jitter, after which no more is read of an old report.
const JITTER: usize = 8;
const PADDED_JITTER: usize = 9;
/// Length of the longest header with a whole report.
const WHOLE: usize = 16 + 28 * 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_never_longer_than_what_it_answers() {
        let report = ServerReport { bytes: u64::MAX, ..ServerReport::default() };
        for length in [0, 1, 12, 16, 51, 52, 55, 56, 100, 128, 1470] {
            for width in [SequenceWidth::Bits32, SequenceWidth::Bits64] {
                let Some(answer) = report.answer(width, length) else {
                    assert!(length < width.header_length() + 40, "{length}");
                    continue;
                };
                assert_eq!(answer.len(), length.min(128));
                assert!(answer[..width.header_length()].iter().all(|byte| *byte == 0));
                assert!(ServerReport::read(&answer).is_some(), "{length}");
            }
        }
    }

    #[test]
    fn words_stand_where_iperf2_looks_for_them() {
        let report = ServerReport {
            bytes: (3 << 32) + 5,
            span: Duration::from_micros(2_000_007),
            lost: 11,
            reordered: 12,
            datagrams: (1 << 32) + 13,
            jitter: Duration::from_micros(14),
            transit: None,
        };
        let answer = report.answer(SequenceWidth::Bits64, 1_470).expect("there is room");
        let word = |index: usize| word(&answer, 16 + 4 * index).expect("a word");
        let words: Vec<_> = (0..10).map(word).collect();
        assert_eq!(words, [0x8800_0000, 3, 5, 2, 7, 11, 12, 13, 0, 14]);
        assert_eq!([word(25), word(26), word(27)], [0, 0, 1]);
    }

    #[test]
    fn a_report_is_read_as_it_was_written() {
        let report = ServerReport {
            bytes: (3 << 32) + 5,
            span: Duration::from_micros(2_000_007),
            lost: (2 << 32) + 11,
            reordered: 12,
            datagrams: (1 << 32) + 13,
            jitter: Duration::from_micros(14),
            transit: None,
        };
        let answer = report.answer(SequenceWidth::Bits64, 1_470).expect("there is room");
        assert_eq!(ServerReport::read(&answer), Some(report));
        let transit = Transit { count: 7, least: -3, most: 2_000_001, mean: 5, squares: 9 };
        let timed = ServerReport { transit: Some(transit), ..report };
        let answer = timed.answer(SequenceWidth::Bits64, 1_470).expect("there is room");
        assert_eq!(ServerReport::read(&answer), Some(timed));
        for length in 0..answer.len() {
            _ = ServerReport::read(&answer[..length]);
        }
        let narrow = ServerReport { lost: 11, datagrams: 13, ..report };
        for width in [SequenceWidth::Bits32, SequenceWidth::Padded32] {
            let answer = narrow.answer(width, 1_470).expect("there is room");
            assert_eq!(ServerReport::read(&answer), Some(narrow), "of 2.0.x, {width:?}");
        }
        assert_eq!(ServerReport::read(&[0; 128]), None, "no report");
        assert_eq!(ServerReport::read(&answer[..36]), None, "a part of one");
    }

    #[test]
    fn a_captured_report_is_read() {
        let mut answer = [0; 128];
        let words = [0x8800_0000_u32, 0, 0x0002_1606, 1, 0x5214, 0, 0, 0x5d, 0, 0xe];
        for (place, word) in answer[16..].chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_be_bytes());
        }
        let report = ServerReport::read(&answer).expect("a report");
        assert_eq!((report.bytes, report.datagrams, report.lost), (136_710, 93, 0));
        assert_eq!(report.jitter, Duration::from_micros(14));
        assert_eq!(report.span, Duration::from_micros(1_021_012));
    }
}
