//! `shaped`: linerate's four rows across a link whose rate is known.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use lab::{LinkSpec, Rate, Shape};

use crate::Verdict;
use crate::ask::{Ask, Direction, End, Transport, Way};
use crate::bench::Bench;
use crate::program::{Installed, Program};
use crate::seen::{Role, Seen};
use crate::table;

/// Measures what a token bucket filter of 100 Mbit/s lets through
#[derive(Debug, Args)]
pub(crate) struct Shaped {
    /// The linerate to test
    #[arg(long, value_name = "FILE")]
    linerate: PathBuf,
    /// Seconds of each row
    #[arg(long, default_value_t = 5, value_name = "SECONDS")]
    time: u32,
}

impl Shaped {
    pub(crate) fn run(&self) -> anyhow::Result<Verdict> {
        let ours = Installed::find(Program::Linerate, &self.linerate)?;
        let shape = Rate::from_bits_per_second(LINK_RATE).map(Shape::with_rate);
        let bench = Bench::new(&LinkSpec { shape, ..LinkSpec::default() })?;
        let mut verdict = Verdict::Passed;
        for transport in [Transport::Tcp, Transport::Udp] {
            for direction in [Direction::Send, Direction::Reverse] {
                let end = End::Seconds(self.time);
                let ask = Ask { end, rate: None, ..Ask::new(transport, direction) };
                if !Row::measure(&bench, &ours, &ask)?.report(&ask) {
                    verdict = Verdict::Failed;
                }
            }
        }
        table::say(&format!("shaped: {verdict:?}"));
        Ok(verdict)
    }
}

/// One row: what was measured, and what the link's counters say, in bit/s.
struct Row {
    measured: f64,
    /// Bytes that the receiving interface counted, less headers, over the same span.
    counted: f64,
}

impl Row {
    fn measure(bench: &Bench, ours: &Installed, ask: &Ask) -> anyhow::Result<Self> {
        let (near, far) = (&bench.link.near, &bench.link.far);
        let way = if ask.direction == Direction::Send { Way::Up } else { Way::Down };
        // What arrives has passed the filter; what is queued has not.
        let interface = if way == Way::Up { far } else { near };
        let before = interface.link()?.statistics;
        let ended = bench.run(ours, ours, ask)?;
        let after = interface.link()?.statistics;
        let seen: Seen = ours.parse(Role::Client, ask, &ended.client.stdout)?;
        let received = seen.way(way).and_then(|seen| seen.received);
        let received = received.context("the client tells nothing of the receiver")?;
        let bytes = received.bytes.context("the client tells no bytes")? as f64;
        let frames = (after.received_bytes - before.received_bytes) as f64;
        // Offloads make one packet of many, with one header; hence counted packets.
        let packets = (after.received_packets - before.received_packets) as f64;
        // The counters see a little more than the measurement: the control connection,
        // and what the filter's queue still held at the end. They have no clock of
        // their own, so the measurement's span is theirs.
        let counted = frames - packets * f64::from(headers(ask.transport));
        Ok(Self { measured: received.rate, counted: received.rate * counted / bytes })
    }

    /// Prints the row; whether it is within the tolerance.
    fn report(&self, ask: &Ask) -> bool {
        let expected = LINK_RATE as f64 * payload_share(ask.transport);
        let (to_theory, to_counters) = (self.measured / expected, self.measured / self.counted);
        let holds = |ratio: f64| (ratio - 1.0).abs() <= TOLERANCE;
        let verdict = if holds(to_theory) && holds(to_counters) { "ok" } else { "FAIL" };
        table::say(&format!(
            "{:<24} expected {:.3} Mbit/s, counters {:.3}, measured {:.3}: ratio {to_theory:.4}, \
             to counters {to_counters:.4} {verdict}",
            table::describe(ask),
            expected / 1e6,
            self.counted / 1e6,
            self.measured / 1e6,
        ));
        verdict == "ok"
    }
}

/// Payload bytes per byte that the filter counts, which is Ethernet without checksum,
/// preamble and gap: 1448 of 1514 for TCP, and 1472 of 1514 for UDP, whose datagrams
/// linerate makes as long as the MTU permits.
fn payload_share(transport: Transport) -> f64 {
    1.0 - f64::from(headers(transport)) / f64::from(MTU + ETHERNET_HEADER)
}

/// Bytes of a packet that are not payload; TCP has time stamps (RFC 7323).
const fn headers(transport: Transport) -> u32 {
    ETHERNET_HEADER
        + IPV4_HEADER
        + match transport {
            Transport::Tcp => TCP_HEADER + TIME_STAMPS,
            Transport::Udp => UDP_HEADER,
        }
}

const LINK_RATE: u64 = 100_000_000;
const TOLERANCE: f64 = 0.02;
const MTU: u32 = 1500;
const ETHERNET_HEADER: u32 = 14;
const IPV4_HEADER: u32 = 20;
const TCP_HEADER: u32 = 20;
/// RFC 7323, padded to four bytes.
const TIME_STAMPS: u32 = 12;
const UDP_HEADER: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_of_full_frames() {
        assert!((payload_share(Transport::Tcp) - 1448.0 / 1514.0).abs() < 1e-12);
        assert!((payload_share(Transport::Udp) - 1472.0 / 1514.0).abs() < 1e-12);
    }
}
