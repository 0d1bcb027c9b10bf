//! Counts the payload datagrams of one receiving stream: order, loss and jitter. It holds no
//! socket; the handshake is answered in `handshake.rs`.

use std::time::Duration;

use measurement::{StreamCounters, Timestamp};
use protocol::iperf3::Header;

use crate::SequenceWidth;
use crate::udp::jitter::Jitter;
use crate::udp::sequence::{Arrival, Sequence};

/// The account of one receiving stream.
pub(super) struct ReceiverAccount {
    width: SequenceWidth,
    sequence: Sequence,
    jitter: Jitter,
    count: StreamCounters,
}

impl ReceiverAccount {
    /// An account of datagrams whose sequence numbers have `width`.
    pub(super) fn new(width: SequenceWidth) -> Self {
        let (sequence, jitter) = (Sequence::default(), Jitter::default());
        Self { width, sequence, jitter, count: StreamCounters::default() }
    }

    /// The counters of all datagrams so far.
    pub(super) fn count(&mut self) -> &StreamCounters {
        self.count.jitter_nanos = self.jitter.nanos();
        &self.count
    }

    /// Counts the payload datagrams of one packet. They share one time of arrival: the
    /// kernel's if it stamped the packet, else `now`.
    pub(super) fn record_packet<'a>(
        &mut self,
        datagrams: impl Iterator<Item = &'a [u8]>,
        arrival: Option<Duration>,
        now: Timestamp,
    ) {
        let mut sent = None;
        for datagram in datagrams {
            let header = self.record(datagram, now);
            sent = sent.or(header.map(|header| header.sent));
        }
        // Datagrams behind the first came with it, and have no arrival time of their own.
        if let Some(sent) = sent {
            self.jitter.update(arrival.unwrap_or(Duration::from_nanos(now.nanos())), sent);
        }
    }

    /// Counts one datagram and returns its header; none: it is too short to have one.
    fn record(&mut self, datagram: &[u8], now: Timestamp) -> Option<Header> {
        self.count.bytes += datagram.len() as u64;
        self.count.blocks += 1;
        self.count.last = now;
        let Some(header) = Header::read(self.width, datagram) else {
            self.count.malformed += 1;
            return None;
        };
        self.record_sequence(self.full_number(header.sequence));
        Some(header)
    }

    fn full_number(&self, number: u64) -> u64 {
        match self.width {
            SequenceWidth::Bits64 => number,
            SequenceWidth::Bits32 => self.sequence.widen(u32::try_from(number).unwrap_or(0)),
        }
    }

    fn record_sequence(&mut self, number: u64) {
        match self.sequence.record(number) {
            Arrival::New => self.count.unique += 1,
            Arrival::Reordered => {
                self.count.unique += 1;
                self.count.reordered += 1;
            }
            Arrival::Duplicate => self.count.duplicate += 1,
            Arrival::Late => self.count.late += 1,
            Arrival::Absurd => self.count.malformed += 1,
        }
        self.count.sequence = self.sequence.highest();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn datagram(sequence: u64) -> [u8; 16] {
        let mut datagram = [0; 16];
        let header = Header { sent: Timestamp::from_nanos(1_000), sequence };
        header.write(SequenceWidth::Bits64, &mut datagram);
        datagram
    }

    #[test]
    fn datagrams_are_counted_without_a_socket() {
        let mut account = ReceiverAccount::new(SequenceWidth::Bits64);
        let packet = [1, 3, 2, 3].map(datagram);
        let now = Timestamp::from_nanos(5_000);
        let short = [0; 3];
        let datagrams = packet.iter().map(|one| &one[..]).chain([&short[..]]);
        account.record_packet(datagrams, None, now);
        let count = account.count();
        assert_eq!((count.blocks, count.bytes, count.last), (5, 67, now));
        assert_eq!((count.unique, count.reordered, count.duplicate), (3, 1, 1));
        assert_eq!((count.malformed, count.sequence), (1, 3));
    }
}
