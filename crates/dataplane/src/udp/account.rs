//! What a receiver notes of each datagram.

use std::net::UdpSocket;
use std::time::Duration;

use linux::udp::Received;
use measurement::{StreamCounters, Timestamp};
use protocol::iperf3::{CounterWidth, Header, Hello, is_reply};

use crate::udp::jitter::Jitter;
use crate::udp::sequence::{Arrival, Sequence};

/// The account of one stream.
pub(super) struct ReceiverAccount {
    width: CounterWidth,
    sequence: Sequence,
    jitter: Jitter,
    count: StreamCounters,
}

impl ReceiverAccount {
    /// Of datagrams whose sequence numbers have that width.
    pub(super) fn new(width: CounterWidth) -> Self {
        let (sequence, jitter) = (Sequence::default(), Jitter::default());
        Self { width, sequence, jitter, count: StreamCounters::default() }
    }

    /// What has come so far.
    pub(super) fn count(&mut self) -> &StreamCounters {
        self.count.jitter_nanos = self.jitter.nanos();
        &self.count
    }

    /// The datagrams of one piece arrived at one time.
    pub(super) fn account_all(&mut self, received: Received<'_>, from: &UdpSocket, now: Timestamp) {
        let arrival = received.arrival.unwrap_or(Duration::from_nanos(now.nanos()));
        // Those behind the first one came with it: they say nothing of jitter.
        let mut sent = None;
        for datagram in received.datagrams() {
            let header = self.account(datagram, from, now);
            sent = sent.or(header.map(|header| header.sent));
        }
        if let Some(sent) = sent {
            self.jitter.update(arrival, sent);
        }
    }

    /// Its header, if it is data.
    fn account(&mut self, datagram: &[u8], from: &UdpSocket, now: Timestamp) -> Option<Header> {
        if is_greeting(datagram, from) {
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

/// A repeated hello or reply is no data; a hello is answered again, since its
/// first answer may be lost (clause 13.5).
fn is_greeting(payload: &[u8], from: &UdpSocket) -> bool {
    if let Some(hello) = Hello::recognise(payload) {
        // If this answer is lost too, the hello comes again.
        _ = from.send(&hello.reply());
        return true;
    }
    is_reply(payload)
}
