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
    /// Number of the datagram that came last, if its arrival has a time of its own.
    last_timed: Option<u64>,
    count: StreamCounters,
}

/// Header of a datagram that was counted.
#[derive(Clone, Copy)]
struct Counted {
    sent: Timestamp,
    number: u64,
}

impl ReceiverAccount {
    /// An account of datagrams whose sequence numbers have `width`.
    pub(super) fn new(width: SequenceWidth) -> Self {
        let (sequence, jitter) = (Sequence::default(), Jitter::default());
        Self { width, sequence, jitter, last_timed: None, count: StreamCounters::default() }
    }

    /// The counters of all datagrams so far.
    pub(super) fn count(&mut self) -> &StreamCounters {
        self.count.jitter_nanos = self.jitter.nanos();
        &self.count
    }

    /// Counts the payload datagrams of one packet. They share one time of arrival: the
    /// kernel's if it stamped the packet, else `now`. Returns the delay variation (RFC 3393) in
    /// nanoseconds, if this datagram and the one sent before it came one after the other, each with
    /// a time of its own.
    pub(super) fn record_packet<'a>(
        &mut self,
        datagrams: impl Iterator<Item = &'a [u8]>,
        arrival: Option<Duration>,
        now: Timestamp,
    ) -> Option<u64> {
        let (mut first, mut count) = (None, 0_u64);
        // Those that follow one another are counted together.
        let (mut in_order, mut bytes) = (0, 0);
        let mut next = self.sequence.highest().wrapping_add(1);
        datagrams.for_each(|datagram| {
            count += 1;
            bytes += datagram.len() as u64;
            let Some(header) = Header::read(self.width, datagram) else {
                self.count.malformed += 1;
                return;
            };
            if self.on_wire(next) == header.sequence && next != 0 {
                first.get_or_insert(Counted { sent: header.sent, number: next });
                (in_order, next) = (in_order + 1, next.wrapping_add(1));
                return;
            }
            self.record_in_order(std::mem::take(&mut in_order));
            let number = self.record_out_of_order(header.sequence);
            first.get_or_insert(Counted { sent: header.sent, number });
            next = self.sequence.highest().wrapping_add(1);
        });
        self.record_in_order(in_order);
        self.count.blocks += count;
        self.count.bytes += bytes;
        if count > 0 {
            self.count.last = now;
        }
        // Datagrams behind the first came with it, and have no arrival time of their own.
        let Counted { sent, number } = first?;
        let has_time = arrival.is_some() && count == 1;
        let change = self.jitter.update(arrival.unwrap_or(Duration::from_nanos(now.nanos())), sent);
        let before = std::mem::replace(&mut self.last_timed, has_time.then_some(number));
        change.filter(|_| has_time && before.and_then(|one| one.checked_add(1)) == Some(number))
    }

    /// The sequence number in the header of the datagram `number`: its low half where headers have 32
    /// bits for it.
    fn on_wire(&self, number: u64) -> u64 {
        match self.width {
            SequenceWidth::Bits64 => number,
            SequenceWidth::Bits32 => number & u64::from(u32::MAX),
        }
    }

    fn full_number(&self, number: u64) -> u64 {
        match self.width {
            SequenceWidth::Bits64 => number,
            SequenceWidth::Bits32 => self.sequence.widen(u32::try_from(number).unwrap_or(0)),
        }
    }

    /// Counts `datagrams` that follow the highest number one after another.
    fn record_in_order(&mut self, datagrams: u64) {
        self.sequence.advance_in_order(datagrams);
        self.count.unique += datagrams;
        self.count.sequence = self.sequence.highest();
    }

    /// Counts a datagram that does not follow the highest number; its number, of which the header
    /// says `on_wire`.
    #[cold]
    fn record_out_of_order(&mut self, on_wire: u64) -> u64 {
        let number = self.full_number(on_wire);
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
        number
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

    #[test]
    fn a_packet_counts_as_its_datagrams_do_one_by_one() {
        let numbers = [1, 2, 3, 3, 5, 4, 6, 0, 7, 8, 200, 201, 9, 202, 203, 203, u64::MAX, 204];
        for width in [SequenceWidth::Bits32, SequenceWidth::Bits64] {
            let [mut together, mut apart] = [(); 2].map(|()| ReceiverAccount::new(width));
            let datagrams = numbers.map(|sequence| {
                let mut datagram = [0; 16];
                Header { sent: Timestamp::default(), sequence }.write(width, &mut datagram);
                datagram
            });
            let now = Timestamp::from_nanos(1);
            together.record_packet(datagrams.iter().map(|one| &one[..]), None, now);
            for one in &datagrams {
                apart.record_packet(std::iter::once(&one[..]), None, now);
            }
            assert_eq!(together.count(), apart.count(), "{width:?}");
        }
    }

    #[test]
    fn neighbours_with_times_of_their_own_have_a_variation() {
        let mut account = ReceiverAccount::new(SequenceWidth::Bits64);
        let mut arrive = |numbers: &[u64], nanos: Option<u64>| {
            let packet: Vec<_> = numbers.iter().map(|number| datagram(*number)).collect();
            let datagrams = packet.iter().map(|one| &one[..]);
            account.record_packet(datagrams, nanos.map(Duration::from_nanos), Timestamp::default())
        };
        assert_eq!(arrive(&[1], Some(5_000)), None, "nothing was before it");
        assert_eq!(arrive(&[2], Some(5_300)), Some(300));
        assert_eq!(arrive(&[3], Some(5_200)), Some(100), "without a sign");
        assert_eq!(arrive(&[5], Some(5_200)), None, "one between them is missing");
        assert_eq!(arrive(&[4], Some(5_900)), None, "it was overtaken");
        assert_eq!(arrive(&[6], Some(5_900)), None);
        assert_eq!(arrive(&[7, 8], Some(6_000)), None, "two share one time");
        assert_eq!(arrive(&[9], Some(6_000)), None);
        assert_eq!(arrive(&[10], None), None, "the kernel did not stamp it");
        assert_eq!(arrive(&[11], Some(6_000)), None);
        assert_eq!(arrive(&[u64::MAX], Some(6_000)), None, "no number is beyond it");
        assert_eq!(arrive(&[0], Some(6_000)), None);
    }
}
