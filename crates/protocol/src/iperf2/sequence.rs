//! The header of each datagram (section 4).

use std::time::Duration;

use super::word;

/// Width of the sequence number of a flow's datagrams (clause 4.2 of docs/protocol/iperf2.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceWidth {
    /// 32 bits: up to 2.0.12.
    Bits32,
    /// 32 bits, and a word after the time that means nothing: 2.0.13.
    Padded32,
    /// 64 bits, in two words.
    Bits64,
}

/// Header of a datagram (section 4 of docs/protocol/iperf2.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Sequence number; negative: the client has ended the flow.
    pub sequence: i64,
    /// Time of sending on the client's clock, since its epoch.
    pub sent: Duration,
}

impl SequenceWidth {
    /// The width that the first datagram of a flow tells by its flags (clause 4.3).
    pub fn told(payload: &[u8]) -> Self {
        let is_wide = word(payload, 16).is_some_and(|flags| flags & WIDE_MASK == WIDE);
        // 2.1+ with -C has digits in place of the flags, and the upper word of the number before them.
        let is_compatible = payload.get(12..20) == Some(b"\0\0\0\x006789");
        // What means nothing still has the digits of the payload.
        let is_padded = payload.get(12..16) == Some(b"2345");
        match (is_wide || is_compatible, is_padded) {
            (true, _) => Self::Bits64,
            (false, true) => Self::Padded32,
            (false, false) => Self::Bits32,
        }
    }

    /// Length of the header with this width, in bytes.
    pub const fn header_length(self) -> usize {
        match self {
            Self::Bits32 => 12,
            Self::Padded32 | Self::Bits64 => 16,
        }
    }
}

impl Datagram {
    /// Reads the header at the start of `payload`; none if it is too short, or no clock has such a
    /// time.
    #[expect(clippy::cast_possible_wrap, reason = "the wire has a signed number in two words")]
    pub fn read(width: SequenceWidth, payload: &[u8]) -> Option<Self> {
        let low = word(payload, 0)?;
        let (seconds, micros) = (word(payload, 4)?, word(payload, 8)?);
        let sequence = match width {
            SequenceWidth::Bits32 | SequenceWidth::Padded32 => narrow(low),
            SequenceWidth::Bits64 => {
                ((u64::from(word(payload, 12)?) << 32) | u64::from(low)) as i64
            }
        };
        let sent = Duration::new(seconds.into(), micros.checked_mul(1_000)?);
        (micros < 1_000_000).then_some(Self { sequence, sent })
    }

    /// Writes the header with a wide sequence number at the start of `payload`, which has 16 bytes
    /// or more.
    #[expect(clippy::cast_possible_truncation, reason = "the wire has two words for it")]
    pub fn write(&self, payload: &mut [u8]) {
        let seconds = self.sent.as_secs() as u32;
        let sequence = self.sequence.cast_unsigned();
        let (low, high) = (sequence as u32, (sequence >> 32) as u32);
        let words = [low, seconds, self.sent.subsec_micros(), high];
        for (place, word) in payload.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_be_bytes());
        }
    }
}

/// A number of 32 bits. 2.0.13 ends a flow by a number with the highest bit, others by a negative one
/// (clause 4.5): the smaller magnitude is meant.
#[expect(clippy::cast_possible_wrap, reason = "the wire has a signed number")]
fn narrow(number: u32) -> i64 {
    let magnitude = number & !ENDED;
    let is_plain = number & ENDED != 0 && magnitude != 0 && magnitude < number.wrapping_neg();
    if is_plain { -i64::from(magnitude) } else { i64::from(number as i32) }
}

const ENDED: u32 = 0x8000_0000;
/// The flag of wide numbers, and one that no digits have with it (clause 4.3).
const WIDE_MASK: u32 = 0x1800_0000;
const WIDE: u32 = 0x0800_0000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_captured_datagram_is_read() {
        let mut bytes = [0; 60];
        let words = [
            (0, 0xffff_ffe7_u32),
            (4, 0x6b08_2731),
            (8, 0x0008_f038),
            (12, u32::MAX),
            (16, 0x4801_0098),
        ];
        for (at, word) in words {
            bytes[at..at + 4].copy_from_slice(&word.to_be_bytes());
        }
        assert_eq!(SequenceWidth::told(&bytes), SequenceWidth::Bits64);
        let read = Datagram::read(SequenceWidth::Bits64, &bytes).expect("a header");
        assert_eq!(read.sequence, -25);
        assert_eq!(read.sent, Duration::new(0x6b08_2731, 0x0008_f038 * 1_000));
    }

    #[test]
    fn a_captured_end_of_2_0_13_is_read() {
        let mut bytes = *b"....seco\0\0\0\x1423450000";
        for (sent, sequence) in [
            (0x35, 0x35),
            (0x8000_0036_u32, -0x36),
            (0xffff_ffca, -0x36),
            (0x8000_0000, -(1 << 31)),
        ] {
            bytes[..4].copy_from_slice(&sent.to_be_bytes());
            let width = SequenceWidth::told(&bytes);
            assert_eq!((width, width.header_length()), (SequenceWidth::Padded32, 16));
            let read = Datagram::read(width, &bytes).expect("a header");
            assert_eq!(read.sequence, sequence, "{sent:x}");
        }
    }

    #[test]
    fn the_first_datagram_of_2_1_without_flags_has_a_wide_number() {
        let mut bytes = *b"............\0\0\0\x00678901";
        assert_eq!(SequenceWidth::told(&bytes), SequenceWidth::Bits64);
        // 2.0.5 has the number of connections there.
        bytes[16..20].copy_from_slice(&[0, 0, 0, 1]);
        assert_eq!(SequenceWidth::told(&bytes), SequenceWidth::Bits32);
    }

    #[test]
    fn what_is_written_is_read() {
        for sequence in [1, i64::from(u32::MAX) + 7, -93, i64::MIN] {
            let written = Datagram { sequence, sent: Duration::from_micros(1_700_000_000_000_001) };
            let mut bytes = [7; 20];
            written.write(&mut bytes);
            assert_eq!(Datagram::read(SequenceWidth::Bits64, &bytes), Some(written));
            assert_eq!(bytes[16..], [7; 4]);
        }
    }

    #[test]
    fn digits_are_no_flags_and_short_payloads_do_no_harm() {
        assert_eq!(SequenceWidth::told(b"....5678901234567890"), SequenceWidth::Bits32);
        assert_eq!(SequenceWidth::told(&[b'8'; 20]), SequenceWidth::Bits32);
        assert_eq!(Datagram::read(SequenceWidth::Bits64, &[0; 15]), None);
        assert_eq!(Datagram::read(SequenceWidth::Bits32, &[0xff; 12]), None, "no such time");
    }
}
