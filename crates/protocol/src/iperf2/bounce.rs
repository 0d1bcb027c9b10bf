//! Requests and answers of `--bounceback` (clauses 3.11 to 3.13).

use std::time::Duration;

use super::word;

/// The requests of a client that measures round trips (`--bounceback`; clauses 3.11 to 3.13 of
/// docs/protocol/iperf2.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounce {
    opening: [u8; FIRST],
    length: usize,
}

impl Bounce {
    /// Bytes of the shortest request: its words with times.
    pub const LEAST: usize = 48;
    /// Bytes of the longest request that is answered.
    pub const MOST: usize = 1 << 18;

    /// Reads the opening of the first request; none: its length is not one that is answered.
    pub(super) fn read(opening: &[u8]) -> Option<Self> {
        let length = usize::try_from(word(opening, LENGTH)?).ok()?;
        let opening = opening.try_into().ok()?;
        (Self::LEAST..=Self::MOST).contains(&length).then_some(Self { opening, length })
    }

    /// Bytes of each request, and of its answer.
    pub const fn length(&self) -> usize {
        self.length
    }

    /// The first bytes of the first request.
    pub const fn opening(&self) -> &[u8; FIRST] {
        &self.opening
    }

    /// A request of `length` bytes, from [`Self::LEAST`] on, that is to be answered at once, or after
    /// `hold`. It tells no time at which it was sent.
    pub fn request(length: usize, hold: Duration) -> Box<[u8]> {
        let mut request: Box<[u8]> = (b'0'..=b'9').cycle().take(length.max(Self::LEAST)).collect();
        request[..Self::LEAST].fill(0);
        let size = u32::try_from(length).unwrap_or(u32::MAX);
        for (at, word) in [(0, BOUNCEBACK), (LENGTH, size), (NUMBER, 1), (HOLD, micros(hold))] {
            put(&mut request, at, word);
        }
        request
    }

    /// How long a server is asked to wait before it answers this request; zero in one that is short.
    pub fn hold(request: &[u8]) -> Duration {
        Duration::from_micros(word(request, HOLD).unwrap_or(0).into())
    }

    /// Turns a request, of at least [`Self::LEAST`] bytes, into its answer: writes the times of day at
    /// which it arrived and at which it is answered, since 1970.
    pub fn answer(request: &mut [u8], arrived: Duration, answered: Duration) {
        for (at, time) in [(ARRIVED, arrived), (ANSWERED, answered)] {
            // The wire has 32 bits for them.
            put(request, at, u32::try_from(time.as_secs()).unwrap_or(u32::MAX));
            put(request, at + 4, time.subsec_micros());
        }
    }
}

fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}

fn put(bytes: &mut [u8], at: usize, word: u32) {
    bytes[at..at + 4].copy_from_slice(&word.to_be_bytes());
}

/// Bytes that are read before it is known what they are.
const FIRST: usize = super::Opening::LENGTH;
pub(super) const BOUNCEBACK: u32 = 0x0080_0000;
/// Offsets in a request.
const LENGTH: usize = 4;
const NUMBER: usize = 8;
const ARRIVED: usize = 28;
const ANSWERED: usize = 36;
const HOLD: usize = 44;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iperf2::{Asks, Opening, Settings};

    #[test]
    fn a_request_is_recognised_and_answered() {
        let hold = Duration::from_millis(5);
        let mut request = Bounce::request(100, hold);
        assert_eq!((request.len(), Bounce::hold(&request)), (100, hold));
        let opening = Opening::recognise(&request);
        let Some(Opening::Header(Settings { connections: 1, asks: Asks::Answers(bounce) })) =
            opening
        else {
            panic!("{opening:?}");
        };
        assert_eq!((bounce.length(), &bounce.opening()[..]), (100, &request[..Opening::LENGTH]));
        Bounce::answer(&mut request, Duration::from_millis(1_500), Duration::from_millis(2_250));
        let words = [28, 32, 36, 40, 44].map(|at| word(&request, at));
        assert_eq!(words, [1, 500_000, 2, 250_000, 5_000].map(Some));
        assert_eq!(request[48..52], *b"8901");
    }

    #[test]
    fn lengths_that_cannot_be_answered_are_refused() {
        for (length, is_answered) in
            [(0, false), (47, false), (48, true), (1 << 18, true), (1 << 20, false)]
        {
            let mut request = Bounce::request(100, Duration::ZERO);
            put(&mut request, LENGTH, length);
            let opening = Opening::recognise(&request);
            let answers = Opening::Header(Settings { connections: 1, asks: Asks::Refused });
            assert_eq!(opening != Some(answers), is_answered, "{length}");
        }
        assert_eq!(Bounce::hold(&[0; 20]), Duration::ZERO);
    }
}
