//! The poll back-off of a receiver. A wake-up costs CPU time where it is triggered: on loopback
//! in the sender, elsewhere in the softirq of the CPU that takes packets from the network card.
//! Where datagrams arrive fast, a receiver that has read all of them sleeps for up to 100 µs
//! instead of waiting for readiness, and then finds many.
//!
//! Arrival times are those of the kernel, so that the sleep does not change the jitter.

use std::net::UdpSocket;
use std::time::Duration;

use measurement::Timestamp;

use crate::stream::Step;

/// The state from which a receiver decides how to wait.
#[derive(Debug)]
pub(super) struct PollBackoff {
    /// Bytes that may arrive during a sleep, as the kernel counts them against the socket
    /// buffer; 0: the receiver always waits for readiness.
    room: u64,
    /// The time when it last found the socket empty.
    waited: Timestamp,
    /// Packets and bytes that arrived since.
    packets: u64,
    bytes: u64,
}

impl PollBackoff {
    /// The back-off of a receiver from `socket`; disabled if the kernel does not stamp arrival
    /// times.
    pub(super) fn new(socket: &UdpSocket) -> Self {
        let buffer = linux::socket_buffers(socket).map_or(0, |buffers| buffers.receive as u64);
        let room = if linux::udp::has_timestamps(socket) { buffer / SHARE } else { 0 };
        Self { room, ..Self::disabled() }
    }

    /// A back-off that always waits for readiness.
    pub(super) const fn disabled() -> Self {
        Self { room: 0, waited: Timestamp::from_nanos(0), packets: 0, bytes: 0 }
    }

    /// Notes that packets arrived.
    pub(super) const fn record(&mut self, packets: usize, bytes: u64) {
        self.packets += packets as u64;
        self.bytes += bytes;
    }

    /// The condition to wait for, now that the socket is empty.
    pub(super) fn wait(&mut self, now: Timestamp) -> Step {
        let span = nanos(now.since(self.waited));
        let (packets, bytes) = (std::mem::take(&mut self.packets), std::mem::take(&mut self.bytes));
        self.waited = now;
        if packets == 0 || span / packets > nanos(SPARSE) {
            return Step::Readable;
        }
        // The kernel charges the buffer with pages and metadata (`skb->truesize`): less than
        // twice the length and a kilobyte per packet.
        let filled = u128::from(2 * bytes + 1024 * packets);
        let holds = u128::from(self.room) * u128::from(span) / filled;
        let holds = Duration::from_nanos(u64::try_from(holds).unwrap_or(u64::MAX));
        if holds < SHORTEST { Step::Readable } else { Step::Until(now.after(holds.min(LONGEST))) }
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// A sleep may fill this part of the buffer: a thread wakes late at times.
const SHARE: u64 = 4;
/// Packets with a longer gap between them wake the receiver one by one.
const SPARSE: Duration = Duration::from_micros(25);
/// The longest sleep: several packets arrive in it, and it is short against all that is
/// measured.
const LONGEST: Duration = Duration::from_micros(100);
/// The shortest sleep: a timer costs about as much as a wake-up.
const SHORTEST: Duration = Duration::from_micros(20);

#[cfg(test)]
mod tests {
    use super::*;

    /// How a receiver with that `room` waits after `packets` of `length` in 100 µs.
    fn wait(room: u64, packets: usize, length: u64) -> Step {
        let start = Timestamp::from_nanos(1_000_000);
        let mut backoff = PollBackoff { room, waited: start, packets: 0, bytes: 0 };
        backoff.record(packets, packets as u64 * length);
        backoff.wait(start.after(LONGEST))
    }

    fn sleep(micros: u64) -> Step {
        Step::Until(Timestamp::from_nanos(1_100_000 + micros * 1_000))
    }

    #[test]
    fn datagrams_that_arrive_fast_cause_no_wake_ups() {
        assert_eq!(wait(2 << 20, 64, 1_460), sleep(100));
        assert_eq!(wait(2 << 20, 5, 65_507), sleep(100));
        assert_eq!(wait(2 << 20, 3, 65_507), Step::Readable);
        assert_eq!(wait(2 << 20, 0, 0), Step::Readable);
    }

    #[test]
    fn a_sleep_does_not_fill_the_buffer() {
        assert_eq!(wait(131_072, 64, 1_536), sleep(50));
        assert_eq!(wait(13_107, 64, 1_536), Step::Readable);
        assert_eq!(wait(0, 64, 64), Step::Readable);
    }
}
