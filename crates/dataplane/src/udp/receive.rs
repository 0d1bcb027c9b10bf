//! Receives datagrams with recvmmsg(2) and accounts for each, also for those that come
//! in one piece (`UDP_GRO`, udp(7)).

use std::io::ErrorKind;
use std::net::UdpSocket;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use linux::epoll::Interest;
use linux::udp::Received;
use measurement::{StreamCounters, Timestamp};
use protocol::iperf3::{CounterWidth, Header, Hello, is_reply};

use crate::budget::Goal;
use crate::counters::Counters;
use crate::scratch::Scratch;
use crate::stream::{Step, Stream};
use crate::udp::naps::Naps;
use crate::udp::sequence::{Arrival, Sequence};

/// One receiving UDP stream.
pub struct Receiver {
    socket: Arc<UdpSocket>,
    width: CounterWidth,
    goal: Option<Arc<Goal>>,
    sequence: Sequence,
    jitter: Jitter,
    naps: Naps,
    count: StreamCounters,
    published: Arc<Counters>,
}

impl Receiver {
    /// The engine's name in records.
    pub const NAME: &'static str = "recvmmsg";
    /// The same on a socket that gives it what came in one piece in one piece.
    pub const NAME_COALESCED: &'static str = "coalesce";

    /// A receiver of datagrams of one peer.
    pub fn new(socket: Arc<UdpSocket>, width: CounterWidth, published: Arc<Counters>) -> Self {
        Self {
            naps: Naps::of(&socket),
            socket,
            width,
            goal: None,
            sequence: Sequence::default(),
            jitter: Jitter::default(),
            count: StreamCounters::default(),
            published,
        }
    }

    /// Credits what it receives to `goal`.
    #[must_use]
    pub fn with_goal(mut self, goal: Option<Arc<Goal>>) -> Self {
        self.goal = goal;
        self
    }

    /// The datagrams of one piece arrived at one time.
    fn account_all(&mut self, received: Received<'_>, now: Timestamp) {
        let arrival = received.arrival.unwrap_or(Duration::from_nanos(now.nanos()));
        // Those behind the first one came with it: they say nothing of jitter.
        let mut sent = None;
        for datagram in received.datagrams() {
            let header = self.account(datagram, now);
            sent = sent.or(header.map(|header| header.sent));
        }
        if let Some(sent) = sent {
            self.jitter.update(arrival, sent);
        }
    }

    /// Its header, if it is data.
    fn account(&mut self, datagram: &[u8], now: Timestamp) -> Option<Header> {
        if self.is_greeting(datagram) {
            return None;
        }
        self.count.bytes += datagram.len() as u64;
        self.count.blocks += 1;
        self.count.last = now;
        let Some(header) = Header::read(self.width, datagram) else {
            self.count.malformed += 1;
            return None;
        };
        self.place(self.full_number(header.sequence));
        Some(header)
    }

    /// A repeated hello or reply is no data; a hello is answered again, since its
    /// first answer may be lost (clause 13.5).
    fn is_greeting(&self, payload: &[u8]) -> bool {
        if let Some(hello) = Hello::recognise(payload) {
            // If this answer is lost too, the hello comes again.
            _ = self.socket.send(&hello.reply());
            return true;
        }
        is_reply(payload)
    }

    fn full_number(&self, number: u64) -> u64 {
        match self.width {
            CounterWidth::Bits64 => number,
            CounterWidth::Bits32 => self.sequence.widen(u32::try_from(number).unwrap_or(0)),
        }
    }

    fn place(&mut self, number: u64) {
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

impl Stream for Receiver {
    fn interest(&self) -> (BorrowedFd<'_>, Interest) {
        (self.socket.as_fd(), Interest::Readable)
    }

    fn halt(&mut self) {
        self.published.finish(None);
    }

    fn step(&mut self, now: Timestamp, scratch: &mut Scratch) -> Step {
        let count = match scratch.incoming.receive(&self.socket) {
            Ok(count) => count,
            Err(error) => {
                return match error.kind() {
                    ErrorKind::WouldBlock => self.naps.wait(now),
                    ErrorKind::Interrupted | ErrorKind::ConnectionRefused => Step::Again,
                    _ => {
                        self.published.finish(error.raw_os_error());
                        Step::Done
                    }
                };
            }
        };
        let before = self.count.bytes;
        for index in 0..count {
            self.account_all(scratch.incoming.get(index), now);
        }
        self.count.jitter_nanos = self.jitter.nanos();
        self.published.publish_datagrams(&self.count);
        let bytes = self.count.bytes - before;
        self.naps.came(count, bytes);
        if let Some(goal) = &self.goal {
            goal.credit(bytes);
        }
        Step::Again
    }
}

/// Interarrival jitter, RFC 3550 sections 6.4.1 and A.8.
#[derive(Clone, Copy, Debug, Default)]
struct Jitter {
    /// Arrival less sending time of the last datagram, in nanoseconds. The clocks
    /// need not agree: only differences of it are used.
    transit: Option<i128>,
    /// Sixteen times the jitter in nanoseconds.
    scaled: u64,
}

impl Jitter {
    fn update(&mut self, arrival: Duration, sent: Timestamp) {
        let transit = arrival.as_nanos().cast_signed() - i128::from(sent.nanos());
        let Some(previous) = self.transit.replace(transit) else { return };
        let change = u64::try_from(transit.abs_diff(previous)).unwrap_or(u64::MAX);
        // J += (|D| - J) / 16, rounded as in A.8; the limit keeps the sum in range
        // whatever a peer writes into its headers.
        self.scaled = self.scaled - ((self.scaled + 8) >> 4) + change.min(u64::MAX >> 5);
    }

    const fn nanos(self) -> u64 {
        self.scaled >> 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jitter(arrivals_and_sendings: &[(u64, u64)]) -> u64 {
        let mut jitter = Jitter::default();
        for (arrival, sent) in arrivals_and_sendings {
            jitter.update(Duration::from_nanos(*arrival), Timestamp::from_nanos(*sent));
        }
        jitter.nanos()
    }

    #[test]
    fn even_spacing_has_no_jitter_however_the_clocks_differ() {
        assert_eq!(jitter(&[(1_000, 900_000), (2_000, 901_000), (3_000, 902_000)]), 0);
    }

    #[test]
    fn one_delay_counts_a_sixteenth() {
        assert_eq!(jitter(&[(0, 0), (17_600, 1_600)]), 1_000);
    }

    #[test]
    fn steady_change_converges_to_its_size() {
        let wobble: Vec<_> = (0..1_000).map(|i| (i * 1_000 + (i % 2) * 160, i * 1_000)).collect();
        assert!((150..=160).contains(&jitter(&wobble)), "{}", jitter(&wobble));
    }

    #[test]
    fn wild_time_stamps_do_no_harm() {
        assert!(jitter(&[(0, u64::MAX), (u64::MAX, 0), (0, u64::MAX), (5, 5)]) > 0);
    }
}
