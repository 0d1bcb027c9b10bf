//! The header at the start of every UDP payload (section 12).

use measurement::Timestamp;

/// Width of the sequence number in the header of a datagram (clause 12.2 of
/// docs/protocol/iperf3.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterWidth {
    /// 32 bits, the default of iperf3.
    Bits32,
    /// 64 bits (`--udp-counters-64bit`).
    Bits64,
}

impl CounterWidth {
    /// Length of a header with a sequence number of this width, in bytes.
    pub const fn header_length(self) -> usize {
        match self {
            Self::Bits32 => 12,
            Self::Bits64 => 16,
        }
    }
}

/// Header of a datagram: the time of sending and the sequence number, in network byte order
/// (section 12 of docs/protocol/iperf3.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Time of sending on the monotonic clock of the sender; microseconds on the wire.
    pub sent: Timestamp,
    /// Sequence number; the first is 1. A header of [`CounterWidth::Bits32`] has its lower 32 bits.
    pub sequence: u64,
}

impl Header {
    /// Writes the header to the start of `payload`, which must be at least
    /// [`CounterWidth::header_length`] bytes long.
    #[inline]
    pub fn write(self, width: CounterWidth, payload: &mut [u8]) {
        let micros = self.sent.nanos() / 1_000;
        payload[..4].copy_from_slice(&low_half(micros / 1_000_000).to_be_bytes());
        payload[4..8].copy_from_slice(&low_half(micros % 1_000_000).to_be_bytes());
        match width {
            CounterWidth::Bits32 => {
                payload[8..12].copy_from_slice(&low_half(self.sequence).to_be_bytes());
            }
            CounterWidth::Bits64 => payload[8..16].copy_from_slice(&self.sequence.to_be_bytes()),
        }
    }

    /// Reads the header at the start of `payload`; none if `payload` is too short.
    #[inline]
    pub fn read(width: CounterWidth, payload: &[u8]) -> Option<Self> {
        let sequence = match width {
            CounterWidth::Bits32 => word(payload, 8)?,
            CounterWidth::Bits64 => (word(payload, 8)? << 32) | word(payload, 12)?,
        };
        let (seconds, micros) = (word(payload, 0)?, word(payload, 4)?);
        // A peer may write anything here: at most 2^32 of each still fits 64 bits.
        let sent = Timestamp::from_nanos(seconds * 1_000_000_000 + micros * 1_000);
        Some(Self { sent, sequence })
    }
}

#[inline]
fn word(payload: &[u8], at: usize) -> Option<u64> {
    let bytes = payload.get(at..at + 4)?;
    Some(u64::from(u32::from_be_bytes(bytes.try_into().ok()?)))
}

#[expect(clippy::cast_possible_truncation, reason = "the wire has 32 bits for it")]
#[inline]
const fn low_half(value: u64) -> u32 {
    value as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_survives_the_wire() {
        let header = Header { sent: Timestamp::from_nanos(5_000_001_000), sequence: 1 << 40 };
        let mut payload = [0; 16];
        header.write(CounterWidth::Bits64, &mut payload);
        assert_eq!(payload[..8], [0, 0, 0, 5, 0, 0, 0, 1]);
        assert_eq!(Header::read(CounterWidth::Bits64, &payload), Some(header));
    }

    #[test]
    fn a_narrow_counter_keeps_the_low_half() {
        let header = Header { sent: Timestamp::from_nanos(0), sequence: (1 << 32) + 7 };
        let mut payload = [0; 12];
        header.write(CounterWidth::Bits32, &mut payload);
        assert_eq!(Header::read(CounterWidth::Bits32, &payload).expect("long enough").sequence, 7);
    }

    #[test]
    fn short_and_wild_payloads_do_no_harm() {
        assert_eq!(Header::read(CounterWidth::Bits64, &[0; 15]), None);
        assert_eq!(Header::read(CounterWidth::Bits32, &[]), None);
        assert!(Header::read(CounterWidth::Bits64, &[0xff; 16]).is_some());
    }
}
