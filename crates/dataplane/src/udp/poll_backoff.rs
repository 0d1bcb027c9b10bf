//! How a receiver waits when nothing is there. Being woken costs the one who wakes it: on
//! loopback the sender itself, elsewhere the CPU that takes the packets from the card. Where
//! datagrams come thick and fast a receiver sleeps for a moment instead, and finds many.
//!
//! The times of arrival are the kernel's, so that nobody sees from them that it slept.

use std::net::UdpSocket;
use std::time::Duration;

use measurement::Timestamp;

use crate::stream::Step;

/// What a receiver of datagrams has to know to decide it.
#[derive(Debug)]
pub(super) struct PollBackoff {
    /// Bytes that may come meanwhile, as the kernel counts them against the socket's buffer;
    /// 0: it never backoff.
    room: u64,
    /// When it found nothing the last time.
    waited: Timestamp,
    /// Pieces and bytes that came since.
    pieces: u64,
    bytes: u64,
}

impl PollBackoff {
    /// For a receiver from `socket`: none if the times of arrival would be those of reading.
    pub(super) fn new(socket: &UdpSocket) -> Self {
        let buffer = linux::socket_buffers(socket).map_or(0, |buffers| buffers.receive as u64);
        let room = if linux::udp::has_timestamps(socket) { buffer / SHARE } else { 0 };
        Self { room, ..Self::disabled() }
    }

    /// For a receiver that never backoff.
    pub(super) const fn disabled() -> Self {
        Self { room: 0, waited: Timestamp::from_nanos(0), pieces: 0, bytes: 0 }
    }

    /// So many pieces and bytes came.
    pub(super) const fn record(&mut self, pieces: usize, bytes: u64) {
        self.pieces += pieces as u64;
        self.bytes += bytes;
    }

    /// What to wait for, as nothing more is there.
    pub(super) fn wait(&mut self, now: Timestamp) -> Step {
        let span = nanos(now.since(self.waited));
        let (pieces, bytes) = (std::mem::take(&mut self.pieces), std::mem::take(&mut self.bytes));
        self.waited = now;
        if pieces == 0 || span / pieces > nanos(SPARSE) {
            return Step::Readable;
        }
        // What so many bytes take of the buffer is their pages and what describes them: less
        // than twice their length and a kilobyte for each piece (`skb->truesize`).
        let filled = u128::from(2 * bytes + 1024 * pieces);
        let holds = u128::from(self.room) * u128::from(span) / filled;
        let holds = Duration::from_nanos(u64::try_from(holds).unwrap_or(u64::MAX));
        if holds < SHORTEST { Step::Readable } else { Step::Until(now.after(holds.min(LONGEST))) }
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// The part of the buffer that a nap may fill: a thread wakes late at times.
const SHARE: u64 = 4;
/// Pieces that come no closer wake the receiver one by one.
const SPARSE: Duration = Duration::from_micros(25);
/// Long enough for several pieces, short beside everything that is measured.
const LONGEST: Duration = Duration::from_micros(100);
/// A timer costs about as much as a wake-up: less is not worth it.
const SHORTEST: Duration = Duration::from_micros(20);

#[cfg(test)]
mod tests {
    use super::*;

    /// How a receiver with that `room` waits after `pieces` of `length` in 100 µs.
    fn wait(room: u64, pieces: usize, length: u64) -> Step {
        let start = Timestamp::from_nanos(1_000_000);
        let mut backoff = PollBackoff { room, waited: start, pieces: 0, bytes: 0 };
        backoff.record(pieces, pieces as u64 * length);
        backoff.wait(start.after(LONGEST))
    }

    fn nap(micros: u64) -> Step {
        Step::Until(Timestamp::from_nanos(1_100_000 + micros * 1_000))
    }

    #[test]
    fn datagrams_that_come_thick_and_fast_wake_nobody() {
        assert_eq!(wait(2 << 20, 64, 1_460), nap(100));
        assert_eq!(wait(2 << 20, 5, 65_507), nap(100));
        assert_eq!(wait(2 << 20, 3, 65_507), Step::Readable);
        assert_eq!(wait(2 << 20, 0, 0), Step::Readable);
    }

    #[test]
    fn a_nap_does_not_fill_the_buffer() {
        assert_eq!(wait(131_072, 64, 1_536), nap(50));
        assert_eq!(wait(13_107, 64, 1_536), Step::Readable);
        assert_eq!(wait(0, 64, 64), Step::Readable);
    }
}
