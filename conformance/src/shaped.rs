//! `shaped`: linerate's four rows across a link whose rate is known.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use testbed::topology::{Path, Topology, limited};

use crate::Verdict;
use crate::ask::{Ask, Direction, End, Transport, ways};
use crate::bench;
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
        let hosts = Topology::cable(Path::Veth, &limited(LINK_MBPS)?)?;
        let mut verdict = Verdict::Passed;
        for transport in [Transport::Tcp, Transport::Udp] {
            for direction in [Direction::Send, Direction::Reverse] {
                let end = End::Seconds(self.time);
                let ask = Ask { end, rate: None, ..Ask::new(transport, direction) };
                if !ShapedRow::measure(&hosts, &ours, &ask)?.report(&ask) {
                    verdict = Verdict::Failed;
                }
            }
        }
        table::say(format!("shaped: {verdict:?}"));
        Ok(verdict)
    }
}

/// One row, in bit/s.
struct ShapedRow {
    /// What full frames carry of the link's rate.
    expected: f64,
    measured: f64,
    /// Bytes that the receiving interface counted, less headers, over the same span.
    counted: f64,
}

impl ShapedRow {
    fn measure(hosts: &Topology, ours: &Installed, ask: &Ask) -> anyhow::Result<Self> {
        let headers = hosts.headers(&ask.test(hosts.address().into()).workload);
        // What arrives has passed the filter; what is queued has not.
        let before = hosts.received(ask.direction)?;
        let ended = bench::run(hosts, ours, ours, ask)?;
        let after = hosts.received(ask.direction)?;
        let seen: Seen = ours.parse(Role::Client, ask, &ended.client.stdout)?;
        let way = ways(ask.direction)[0];
        let received = seen.way(way).and_then(|seen| seen.received);
        let received = received.context("the client tells nothing of the receiver")?;
        let bytes = received.bytes.context("the client tells no bytes")? as f64;
        // The counters see a little more than the measurement: the control connection,
        // and what the filter's queue still held at the end. They have no clock of
        // their own, so the measurement's span is theirs.
        let counted = received.rate * after.payload_since(before, headers) as f64 / bytes;
        let expected = LINK_MBPS as f64 * 1e6 * payload_share(headers);
        Ok(Self { expected, measured: received.rate, counted })
    }

    /// Prints the row; whether it is within the tolerance.
    fn report(&self, ask: &Ask) -> bool {
        let to_theory = self.measured / self.expected;
        let to_counters = self.measured / self.counted;
        let holds = |ratio: f64| (ratio - 1.0).abs() <= TOLERANCE;
        let verdict = if holds(to_theory) && holds(to_counters) { "ok" } else { "FAIL" };
        table::say(format!(
            "{:<24} expected {:.3} Mbit/s, counters {:.3}, measured {:.3}: ratio {to_theory:.4}, \
             to counters {to_counters:.4} {verdict}",
            table::describe(ask),
            self.expected / 1e6,
            self.counted / 1e6,
            self.measured / 1e6,
        ));
        verdict == "ok"
    }
}

/// Payload bytes per byte that the filter counts, which is Ethernet without checksum,
/// preamble and gap: 1448 of 1514 for TCP, and 1472 of 1514 for UDP, whose datagrams
/// linerate makes as long as the MTU permits.
fn payload_share(headers: u64) -> f64 {
    1.0 - headers as f64 / FRAME
}

const LINK_MBPS: u64 = 100;
const TOLERANCE: f64 = 0.02;
/// An MTU of 1500, and Ethernet's header.
const FRAME: f64 = 1514.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_of_full_frames() {
        assert!((payload_share(14 + 20 + 32) - 1448.0 / 1514.0).abs() < 1e-12);
        assert!((payload_share(14 + 20 + 8) - 1472.0 / 1514.0).abs() < 1e-12);
    }
}
