//! Datagrams by hand: what a UDP receiver makes of ones that no sender of ours would
//! send, and what those of our sender look like.

#![forbid(unsafe_code)]

use std::net::UdpSocket;
use std::sync::Arc;
use std::time::Duration;

use linerate_dataplane::{Budget, Pool, VariationReading, now, udp};
use measurement::{StreamCounters, Timestamp};
use protocol::iperf3::{CounterWidth, Header};

#[expect(dead_code, reason = "what is for TCP and for several workers")]
mod support;

use support::{DATAGRAM, Setup, counters, eventually, udp_pair};

#[test]
fn datagrams_in_order_are_all_unique() {
    let counted = Bench::new(CounterWidth::Bits64).after(1..=100);
    assert_eq!((counted.unique, counted.sequence, counted.missing()), (100, 100, 0));
    assert_eq!((counted.reordered, counted.duplicate, counted.late), (0, 0, 0));
    assert_eq!(counted.bytes, 100 * DATAGRAM as u64);
}

#[test]
fn a_gap_is_missing() {
    let counted = Bench::new(CounterWidth::Bits64).after([1, 2, 5, 9]);
    assert_eq!((counted.unique, counted.sequence, counted.missing()), (4, 9, 5));
    assert_eq!((counted.reordered, counted.duplicate, counted.late), (0, 0, 0));
}

#[test]
fn a_gap_that_fills_later_is_reordered_and_no_longer_missing() {
    let counted = Bench::new(CounterWidth::Bits64).after([1, 4, 2, 3, 5]);
    assert_eq!((counted.unique, counted.reordered, counted.missing()), (5, 2, 0));
}

#[test]
fn a_repeated_datagram_is_a_duplicate() {
    let counted = Bench::new(CounterWidth::Bits64).after([1, 2, 2, 3, 1, 2]);
    assert_eq!((counted.unique, counted.duplicate, counted.missing()), (3, 3, 0));
    assert_eq!((counted.blocks, counted.reordered), (6, 0));
}

#[test]
fn a_datagram_behind_the_window_is_late_and_stays_missing() {
    let counted = Bench::new(CounterWidth::Bits64).after([1, 70_000, 3, 70_000 - 65_536]);
    assert_eq!((counted.unique, counted.late), (2, 2));
    assert_eq!((counted.sequence, counted.missing()), (70_000, 69_998));
    let counted = Bench::new(CounterWidth::Bits64).after([1, 70_000, 70_000 - 65_535]);
    assert_eq!((counted.unique, counted.reordered, counted.late), (3, 1, 0));
}

#[test]
fn a_narrow_counter_goes_on_beyond_its_wrap() {
    let wrap = 1_u64 << 32;
    // More than half a turn ahead would be taken for behind.
    let approach = [1, 1 << 31, wrap - 3, wrap - 2, wrap - 1];
    let beyond = [wrap, wrap + 1, wrap + 1, wrap - 4, wrap + 2];
    let counted = Bench::new(CounterWidth::Bits32).after(approach.into_iter().chain(beyond));
    assert_eq!((counted.sequence, counted.unique), (wrap + 2, 9));
    assert_eq!((counted.reordered, counted.duplicate, counted.late), (1, 1, 0));
}

#[test]
fn a_wide_counter_does_not_wrap() {
    let wrap = 1_u64 << 32;
    let counted = Bench::new(CounterWidth::Bits64).after([wrap - 1, wrap, wrap + 1]);
    assert_eq!((counted.sequence, counted.unique, counted.reordered), (wrap + 1, 3, 0));
}

#[test]
fn wild_numbers_do_no_harm() {
    let counted = Bench::new(CounterWidth::Bits64).after([u64::MAX, 0, u64::MAX, 1]);
    // No sender can have sent so many: these are no sequence numbers.
    assert_eq!((counted.sequence, counted.unique), (1, 1));
    assert_eq!((counted.malformed, counted.late), (2, 1));
}

#[test]
fn a_repeated_hello_is_answered_and_not_counted() {
    let bench = Bench::new(CounterWidth::Bits32);
    for (hello, reply) in [(*b"9876", *b"6789"), (legacy(123_456_789), legacy(987_654_321))] {
        bench.send_bytes(&hello);
        assert_eq!(bench.answer(), reply);
    }
    let counted = bench.after([1]);
    assert_eq!((counted.blocks, counted.bytes, counted.malformed), (1, DATAGRAM as u64, 0));
}

#[test]
fn a_repeated_reply_is_neither_answered_nor_counted() {
    let bench = Bench::new(CounterWidth::Bits32);
    bench.send_bytes(b"6789");
    bench.send_number(1, now());
    assert_eq!(bench.counted(1).blocks, 1);
    assert!(bench.peer.recv(&mut [0; 8]).is_err(), "an answer to an answer");
}

#[test]
fn a_datagram_too_short_for_its_header_is_malformed() {
    for width in [CounterWidth::Bits32, CounterWidth::Bits64] {
        let bench = Bench::new(width);
        let least = width.header_length();
        for length in [0, 3, 5, least - 1] {
            bench.send_bytes(&vec![0; length]);
        }
        let counted = bench.counted(4);
        assert_eq!((counted.malformed, counted.unique, counted.sequence), (4, 0, 0));
        assert_eq!(counted.bytes, 3 + 5 + least as u64 - 1);
        assert_eq!(counted.late, 0);
    }
}

#[test]
fn the_shortest_whole_header_is_counted() {
    for width in [CounterWidth::Bits32, CounterWidth::Bits64] {
        let bench = Bench::new(width);
        let mut payload = vec![0; width.header_length()];
        Header { sent: now(), sequence: 1 }.write(width, &mut payload);
        bench.send_bytes(&payload);
        let counted = bench.counted(1);
        assert_eq!((counted.unique, counted.malformed), (1, 0));
    }
}

#[test]
fn datagrams_that_take_equally_long_have_little_jitter() {
    let jitter = jitter_of(|_, now| now.after(AGES));
    assert!(jitter < AGES / 1_000, "{jitter:?}");
}

/// J += (|D| - J) / 16 approaches a constant |D| (RFC 3550, 6.4.1).
#[test]
fn datagrams_delayed_by_turns_have_the_delay_as_jitter() {
    let jitter = jitter_of(|number, now| if number % 2 == 0 { now.after(AGES) } else { now });
    assert!(jitter.abs_diff(AGES) < AGES / 1_000, "{jitter:?}");
}

#[test]
fn a_sender_numbers_its_datagrams_from_one() {
    for width in [CounterWidth::Bits32, CounterWidth::Bits64] {
        let (near, far) = udp_pair();
        let (budget, began) = (Some(Arc::new(Budget::new(100))), to_micros(now()));
        let pool = Setup::udp()
            .sender(|c| udp::Sender::new(near, width, c).with_datagrams(budget))
            .start();
        eventually("all is sent", || pool.senders_finished());
        let mut times = vec![began];
        for number in 1..=100 {
            let mut payload = [0; DATAGRAM + 1];
            assert_eq!(far.recv(&mut payload).expect("received"), DATAGRAM);
            let header = Header::read(width, &payload).expect("long enough");
            assert_eq!(header.sequence, number);
            times.push(header.sent);
        }
        assert!(times.is_sorted(), "{times:?}");
        // Those of one call are spread over the time that a call takes, and may be as far ahead.
        let (last, now) = (times[times.len() - 1], now());
        assert!(last <= now.after(now.since(began)), "{last:?} at {now:?}: {times:?}");
    }
}

/// The jitter after many datagrams whose headers say that they were sent at `sent(number, now)`.
fn jitter_of(sent: impl Fn(u64, Timestamp) -> Timestamp) -> Duration {
    let bench = Bench::new(CounterWidth::Bits64);
    for number in 1..=150 {
        bench.send_number(number, sent(number, now()));
    }
    Duration::from_nanos(bench.counted(150).jitter_nanos)
}

/// A delay beside which the time for which a busy machine keeps a sender is nothing.
const AGES: Duration = Duration::from_secs(1_000);

/// Every second datagram seems to take 50 ms less, and the one between them more.
#[test]
fn datagrams_delayed_by_turns_vary_by_the_delay() {
    let bench = Bench::new(CounterWidth::Bits64);
    let delay = Duration::from_millis(50);
    for number in 1..=100 {
        let sent = if number % 2 == 0 { now().after(delay) } else { now() };
        bench.send_number(number, sent);
    }
    bench.counted(100);
    // It is noted before the datagram is counted.
    let found = VariationReading::take(bench.pool.variation()).since(None).expect("pairs");
    assert_eq!(found.pairs, 99);
    let median = Duration::from_nanos(found.nanos.p50);
    assert!((40..=60).contains(&median.as_millis()), "{found:?}");
}

/// As exact as a header has it.
fn to_micros(time: Timestamp) -> Timestamp {
    Timestamp::from_nanos(time.nanos() / 1_000 * 1_000)
}

fn legacy(number: u32) -> [u8; 4] {
    number.to_le_bytes()
}

/// A receiver and the socket of its peer. Arrivals are stamped by the kernel, as a
/// session asks it to, so that a worker that had to wait does not disturb them.
struct Bench {
    peer: Arc<UdpSocket>,
    width: CounterWidth,
    pool: Pool,
}

impl Bench {
    fn new(width: CounterWidth) -> Self {
        let (peer, socket) = udp_pair();
        linux::udp::enable_timestamps(&socket).expect("stamps");
        let pool = Setup::udp().receiver(|c| udp::Receiver::new(socket, width, c)).start();
        Self { peer, width, pool }
    }

    /// What is counted after datagrams with these sequence numbers.
    fn after(&self, numbers: impl IntoIterator<Item = u64>) -> StreamCounters {
        let sent = numbers.into_iter().map(|number| self.send_number(number, now())).count();
        self.counted(sent as u64)
    }

    fn send_number(&self, number: u64, sent: Timestamp) {
        let mut payload = [0; DATAGRAM];
        Header { sent, sequence: number }.write(self.width, &mut payload);
        self.send_bytes(&payload);
    }

    fn send_bytes(&self, payload: &[u8]) {
        assert_eq!(self.peer.send(payload).expect("sent"), payload.len());
    }

    fn answer(&self) -> [u8; 4] {
        let mut answer = [0; 4];
        eventually("an answer comes", || matches!(self.peer.recv(&mut answer), Ok(4)));
        answer
    }

    /// The counters once `datagrams` have come.
    fn counted(&self, datagrams: u64) -> StreamCounters {
        eventually("all have come", || counters(&self.pool, 1).blocks >= datagrams);
        counters(&self.pool, 1)
    }
}
