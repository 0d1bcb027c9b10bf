//! The words at the start of each write of a TCP client that asks for times on the way (clause 3.14).

use std::time::Duration;

use super::ClientHeader;
use super::client_header::{EXTENDED, TRIP_TIMES_UPPER, VERSION, length_flags};

/// Words at the start of each write of a TCP client with `--trip-times`, by which the server knows how
/// long it was on its way (clause 3.14 of docs/protocol/iperf2.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteMarks {
    connections: u32,
    port: u16,
    start: Duration,
}

impl WriteMarks {
    /// Bytes of the words: those of the shortest write.
    pub const LENGTH: usize = 92;

    /// The marks of a client; none: it does not ask for times.
    pub fn of(header: &ClientHeader) -> Option<Self> {
        let ClientHeader { connections, port, .. } = *header;
        header.trip_times_from.map(|start| Self::new((connections, port), start))
    }

    /// The marks of who sends over so many connections to or from a server at that port, and began at
    /// this time of day since 1970.
    pub const fn new((connections, port): (u32, u16), start: Duration) -> Self {
        Self { connections, port, start }
    }

    /// Marks write `number`, from 1 on, which is made at this time of day since 1970.
    ///
    /// # Panics
    /// If the write is shorter than [`Self::LENGTH`].
    pub fn write(&self, number: u32, now: Duration, block: &mut [u8]) {
        let length = u32::try_from(block.len()).unwrap_or(u32::MAX);
        let [start, now] = [self.start, now]
            .map(|time| [u32::try_from(time.as_secs()).unwrap_or(u32::MAX), time.subsec_micros()]);
        let mut words = [0; Self::LENGTH / 4];
        words[..3].copy_from_slice(&[
            EXTENDED | length_flags(ClientHeader::TIMED_LENGTH),
            self.connections,
            self.port.into(),
        ]);
        words[3..5].copy_from_slice(&start);
        words[5..7].copy_from_slice(&now);
        words[8] = TRIP_TIMES_UPPER << 16;
        words[9..11].copy_from_slice(&VERSION);
        words[11..14].copy_from_slice(&[number, length, number.wrapping_mul(length)]);
        words[16..18].copy_from_slice(&start);
        for (place, word) in block[..Self::LENGTH].chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&u32::to_be_bytes(word));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_is_marked_as_in_a_capture() {
        let start = Duration::new(0x6b09_6e99, 0x000e_eb5d * 1_000);
        let now = Duration::new(0x6b09_6e99, 0x000e_eca0 * 1_000);
        let marks = WriteMarks { connections: 1, port: 0x1839, start };
        let mut block = vec![0; 0x4000];
        marks.write(1, now, &mut block);
        let words = block[..WriteMarks::LENGTH].chunks_exact(4);
        let words: Vec<_> =
            words.map(|word| u32::from_be_bytes(word.try_into().expect("a word"))).collect();
        let begin = [0x4001_00a0, 1, 0x1839, 0x6b09_6e99, 0x000e_eb5d, 0x6b09_6e99, 0x000e_eca0];
        assert_eq!(words[..7], begin);
        assert_eq!(words[7..13], [0, 0x0010_0000, 0x0002_0001, 0x0008_0003, 1, 0x4000]);
        assert_eq!(words[16..18], [0x6b09_6e99, 0x000e_eb5d]);
    }
}
