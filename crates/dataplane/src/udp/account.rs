//! Counts the payload datagrams of one receiving stream: order, loss and jitter. It holds no
//! socket; the handshake is answered in `handshake.rs`.

use std::time::Duration;

use measurement::{StreamCounters, Timestamp};
use protocol::iperf2::{Transit, Transits};

use crate::udp::ReceivedHeader;
use crate::udp::jitter::Jitter;
use crate::udp::sequence::{Arrival, Sequence};

/// The account of one receiving stream.
pub(super) struct ReceiverAccount {
    header: ReceivedHeader,
    sequence: Sequence,
    jitter: Jitter,
    /// Number of the datagram that came last, if its arrival has a time of its own.
    last_timed: Option<u64>,
    /// One-way delays by the clocks of both ends. `None`: the client does not ask for them.
    transits: Option<Transits>,
    /// Only numbers above the highest are counted: some datagrams may come twice.
    ignores_repeated: bool,
    count: StreamCounters,
}

/// Header of a datagram that was counted.
#[derive(Clone, Copy)]
struct Counted {
    sent: Timestamp,
    number: u64,
}

impl ReceiverAccount {
    /// An account of datagrams with this header.
    pub(super) fn new(header: ReceivedHeader) -> Self {
        let is_timed = match &header {
            ReceivedHeader::Iperf3(_) => false,
            ReceivedHeader::Iperf2(flow) => flow.start().is_timed(),
        };
        Self {
            header,
            sequence: Sequence::default(),
            jitter: Jitter::default(),
            last_timed: None,
            transits: is_timed.then(Transits::default),
            ignores_repeated: false,
            count: StreamCounters::default(),
        }
    }

    /// Lets only numbers above the highest be counted, as long as some datagrams may come twice.
    pub(super) const fn ignore_repeated(&mut self, ignores: bool) {
        self.ignores_repeated = ignores;
    }

    /// One-way delays of the datagrams so far. `None`: the client does not ask for them.
    pub(super) fn transit(&self) -> Option<Transit> {
        self.transits.as_ref().map(Transits::read)
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
            let Some(header) = self.header.read(datagram) else {
                self.count.malformed += 1;
                return;
            };
            if self.on_wire(next) == header.sequence && next != 0 {
                first.get_or_insert(Counted { sent: header.sent, number: next });
                (in_order, next) = (in_order + 1, next.wrapping_add(1));
                return;
            }
            self.record_in_order(std::mem::take(&mut in_order));
            if self.ignores_repeated && header.sequence <= self.sequence.highest() {
                (count, bytes) = (count - 1, bytes - datagram.len() as u64);
                return;
            }
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
        if let Some(transits) = &mut self.transits {
            let arrived = arrival.unwrap_or_else(linux::clock::realtime);
            transits.add(micros(arrived) - micros(Duration::from_nanos(sent.nanos())));
        }
        let has_time = arrival.is_some() && count == 1;
        let change = self.jitter.update(arrival.unwrap_or(Duration::from_nanos(now.nanos())), sent);
        let before = std::mem::replace(&mut self.last_timed, has_time.then_some(number));
        change.filter(|_| has_time && before.and_then(|one| one.checked_add(1)) == Some(number))
    }

    /// Counts a datagram that came before others that were counted, to another socket.
    pub(super) fn record_early(
        &mut self,
        datagram: &[u8],
        arrival: Option<Duration>,
        now: Timestamp,
    ) {
        let reordered = self.count.reordered;
        self.record_packet(std::iter::once(datagram), arrival, now);
        self.count.reordered = reordered;
    }

    /// The sequence number in the header of the datagram `number`: its low half where headers have 32
    /// bits for it.
    fn on_wire(&self, number: u64) -> u64 {
        if self.header.is_narrow() { number & u64::from(u32::MAX) } else { number }
    }

    fn full_number(&self, number: u64) -> u64 {
        if self.header.is_narrow() {
            self.sequence.widen(u32::try_from(number).unwrap_or(0))
        } else {
            number
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

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::channel;

    use protocol::iperf2::FlowStart;
    use protocol::iperf3::Header;

    use super::*;
    use crate::SequenceWidth;
    use crate::udp::Iperf2Flow;

    fn datagram(sequence: u64) -> [u8; 16] {
        let mut datagram = [0; 16];
        let header = Header { sent: Timestamp::from_nanos(1_000), sequence };
        header.write(SequenceWidth::Bits64, &mut datagram);
        datagram
    }

    #[test]
    fn datagrams_are_counted_without_a_socket() {
        let mut account = ReceiverAccount::new(SequenceWidth::Bits64.into());
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
            let [mut together, mut apart] = [(); 2].map(|()| ReceiverAccount::new(width.into()));
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
        let mut account = ReceiverAccount::new(SequenceWidth::Bits64.into());
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

    /// A datagram of iperf2 with a number of 32 bits, up to 2.0.12.
    fn of_iperf2(sequence: i32, millis: u32) -> [u8; 40] {
        let mut datagram = [b'7'; 40];
        for (at, word) in [(0, sequence.cast_unsigned()), (4, 0), (8, millis * 1_000)] {
            datagram[at..at + 4].copy_from_slice(&word.to_be_bytes());
        }
        datagram
    }

    /// The account of a flow that begins with that number.
    fn flow_from(first: i32) -> ReceiverAccount {
        let start = FlowStart::recognise(&of_iperf2(first, 1)).expect("a flow");
        let flow = Iperf2Flow::new(start, channel().1, None);
        ReceiverAccount::new(ReceivedHeader::Iperf2(Arc::new(flow)))
    }

    #[test]
    fn a_flow_of_iperf2_is_counted_from_its_first_number_on() {
        for first in [0, 1] {
            let mut account = flow_from(first);
            for number in [0, 1, 4, 3, 3] {
                let datagram = of_iperf2(first + number, 1);
                account.record_packet(std::iter::once(&datagram[..]), None, Timestamp::default());
            }
            let count = account.count();
            assert_eq!((count.sequence, count.unique, count.blocks), (5, 4, 5), "from {first}");
            assert_eq!((count.reordered, count.duplicate, count.malformed), (1, 1, 0));
        }
    }

    #[test]
    fn what_came_to_another_socket_is_not_reordered() {
        let mut account = flow_from(1);
        let now = Timestamp::default();
        for number in [3, 4] {
            account.record_packet(std::iter::once(&of_iperf2(number, 1)[..]), None, now);
        }
        for number in [1, 2] {
            account.record_early(&of_iperf2(number, 1), None, now);
        }
        let count = account.count();
        assert_eq!((count.sequence, count.unique, count.reordered), (4, 4, 0));
    }

    #[test]
    fn what_may_come_twice_is_counted_once() {
        let mut account = flow_from(1);
        let now = Timestamp::default();
        account.ignore_repeated(true);
        for number in [1, 2, 2, 1, 3] {
            account.record_packet(std::iter::once(&of_iperf2(number, 1)[..]), None, now);
        }
        account.ignore_repeated(false);
        account.record_packet(std::iter::once(&of_iperf2(3, 1)[..]), None, now);
        let count = account.count();
        assert_eq!((count.blocks, count.unique, count.duplicate), (4, 3, 1));
        assert_eq!(count.bytes, 160);
    }
}
