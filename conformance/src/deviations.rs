//! What is known to differ from the promises, each with its clause and its reason.
//!
//! An entry excuses as little as it can: a promise, between certain programs, within a
//! bound. Entries that a run needed are printed with it.

use crate::ask::{Ask, Direction, End, Transport, Way};
use crate::program::{Installed, Program, Version};
use crate::promises::{Breach, Promise};

/// Which program was which end.
pub(crate) struct Pairing<'a> {
    pub(crate) client: &'a Installed,
    pub(crate) server: &'a Installed,
}

/// One known difference.
pub(crate) struct Deviation {
    /// Clause of docs/protocol/iperf3.md.
    pub(crate) clause: &'static str,
    /// Why it is so, and why it is nobody's fault here.
    pub(crate) reason: &'static str,
    /// What is not kept.
    promises: &'static [Promise],
    covers: fn(&Pairing<'_>, &Ask, &Breach) -> bool,
}

/// The entry that excuses a breach.
pub(crate) fn excuse(
    pairing: &Pairing<'_>,
    ask: &Ask,
    breach: &Breach,
) -> Option<&'static Deviation> {
    let mut about_it = DEVIATIONS.iter().filter(|one| one.promises.contains(&breach.promise));
    about_it.find(|one| (one.covers)(pairing, ask, breach))
}

impl Pairing<'_> {
    fn sender(&self, way: Option<Way>) -> &Installed {
        if way == Some(Way::Down) { self.server } else { self.client }
    }

    fn receiver(&self, way: Option<Way>) -> &Installed {
        if way == Some(Way::Down) { self.client } else { self.server }
    }
}

fn is_iperf3(installed: &Installed) -> bool {
    installed.program == Program::Iperf3
}

fn is_iperf3_before(installed: &Installed, minor: u32) -> bool {
    is_iperf3(installed) && installed.version < Version(3, minor)
}

fn difference(breach: &Breach) -> f64 {
    (breach.measured - breach.expected).abs()
}

fn relative_difference(breach: &Breach) -> f64 {
    difference(breach) / breach.measured.max(breach.expected)
}

/// What a rated test moves while messages pass and threads wake, in the unit of the
/// breach: bytes, datagrams or bit/s.
fn is_in_flight(ask: &Ask, breach: &Breach) -> bool {
    let bytes = ask.total_rate().map_or(0.0, |rate| rate as f64 / 8.0 * IN_FLIGHT_SECONDS);
    let smallest = ask.length.map_or(SMALLEST_DATAGRAM, f64::from);
    match breach.promise {
        Promise::AllArrives => difference(breach) <= bytes,
        _ => difference(breach) <= bytes / smallest,
    }
}

fn block(ask: &Ask) -> f64 {
    ask.length.map_or(DEFAULT_BLOCK, f64::from) * f64::from(ask.streams)
}

fn ends_by_amount(ask: &Ask) -> bool {
    !matches!(ask.end, End::Seconds(_))
}

const DEVIATIONS: &[Deviation] = &[
    Deviation {
        clause: "2.4",
        reason: "an iperf3 before 3.10 delays small messages by 40 ms and more, which lengthens \
                 a test of one second at one end",
        promises: &[Promise::RateKept, Promise::TimeKept],
        covers: |pairing, _, breach| {
            let is_old =
                is_iperf3_before(pairing.server, 10) || is_iperf3_before(pairing.client, 10);
            is_old && relative_difference(breach) <= 0.09
        },
    },
    Deviation {
        clause: "6.3",
        reason: "an iperf3 3.1 sends at nine tenths of its target rate, also to itself",
        promises: &[Promise::RateKept],
        covers: |pairing, _, breach| {
            is_iperf3_before(pairing.sender(breach.way), 2)
                && breach.measured < breach.expected
                && relative_difference(breach) <= 0.12
        },
    },
    Deviation {
        clause: "9.2",
        reason: "each end leaves out the omitted start by its own clock, so what is in flight at \
                 that moment counts at one end only",
        promises: &[Promise::EndsAgreeOnDatagrams, Promise::AllArrives],
        covers: |_, ask, breach| {
            ask.omit_seconds > 0 && ask.transport == Transport::Udp && is_in_flight(ask, breach)
        },
    },
    Deviation {
        clause: "9.4",
        reason: "an iperf3 server sends until the client stops it, so it sends more than asked",
        promises: &[Promise::AmountSent],
        covers: |pairing, ask, breach| {
            is_iperf3(pairing.server)
                && breach.way == Some(Way::Down)
                && breach.measured > breach.expected
                // No buffer bounds what goes out as datagrams until then.
                && (ask.transport == Transport::Udp
                    || difference(breach) <= SOCKET_BUFFERS * f64::from(ask.streams))
        },
    },
    Deviation {
        clause: "9.6",
        reason: "an iperf3 client ends a bidirectional test when one direction has its amount",
        promises: &[Promise::AmountSent, Promise::AllArrives],
        covers: |pairing, ask, breach| {
            is_iperf3(pairing.client)
                && ask.direction == Direction::Both
                && ends_by_amount(ask)
                && breach.measured < breach.expected
        },
    },
    Deviation {
        clause: "9.7",
        reason: "an iperf3 client that receives counts reads as blocks, and stops at so many",
        promises: &[Promise::AmountSent, Promise::AllArrives],
        covers: |pairing, ask, breach| {
            is_iperf3(pairing.client)
                && ask.direction == Direction::Reverse
                && matches!(ask.end, End::Blocks(_))
                && breach.measured < breach.expected
        },
    },
    Deviation {
        clause: "9.8",
        reason: "an iperf3 sender looks at the amount after a turn of up to ten blocks on each \
                 stream",
        promises: &[Promise::AmountSent],
        covers: |pairing, ask, breach| {
            is_iperf3(pairing.sender(breach.way))
                && breach.measured > breach.expected
                && difference(breach) <= BLOCKS_OF_A_TURN * block(ask)
        },
    },
    Deviation {
        clause: "9.8",
        reason: "the threads of an iperf3 server of 3.16+ still send while it reports, so its \
                 report and its results differ by blocks",
        promises: &[Promise::EndsAgreeOnBytes],
        covers: |pairing, ask, breach| {
            is_iperf3(pairing.server)
                && pairing.server.version >= Version(3, 16)
                && breach.way == Some(Way::Down)
                && difference(breach) <= BLOCKS_OF_A_TURN * block(ask)
        },
    },
    Deviation {
        clause: "10.2",
        reason: "an iperf3 takes its final reading when the test ends, and not what is still in \
                 its buffers",
        promises: &[Promise::AllArrives],
        covers: |pairing, ask, breach| {
            is_iperf3(pairing.receiver(breach.way))
                && ask.transport == Transport::Tcp
                && breach.measured < breach.expected
        },
    },
    Deviation {
        clause: "10.6",
        reason: "an iperf3 3.1 does not report how long it measured, and does not read how long \
                 the other end did",
        promises: &[Promise::EndsAgreeOnRate],
        covers: |pairing, ask, breach| {
            is_iperf3_before(pairing.client, 2)
                && (ends_by_amount(ask) || relative_difference(breach) <= 0.02)
        },
    },
    Deviation {
        clause: "14.1",
        reason: "datagrams in flight at the end are not read by an iperf3, nor counted as lost",
        promises: &[
            Promise::EndsAgreeOnDatagrams,
            Promise::EndsAgreeOnLoss,
            Promise::NothingLost,
            Promise::AllArrives,
        ],
        covers: |pairing, ask, breach| {
            is_iperf3(pairing.receiver(breach.way))
                && ask.transport == Transport::Udp
                && is_in_flight(ask, breach)
        },
    },
    Deviation {
        clause: "14.6",
        reason: "in a bidirectional test an iperf3 client shows the server's span for what it \
                 received itself",
        promises: &[Promise::EndsAgreeOnRate],
        covers: |pairing, ask, breach| {
            is_iperf3(pairing.client)
                && ask.direction == Direction::Both
                && breach.way == Some(Way::Down)
                && (ends_by_amount(ask) || relative_difference(breach) <= 0.02)
        },
    },
];

const IN_FLIGHT_SECONDS: f64 = 0.02;
/// What fits an Ethernet frame over IPv6, less options.
const SMALLEST_DATAGRAM: f64 = 1400.0;
/// iperf3's `len` of TCP (clause 6.3).
const DEFAULT_BLOCK: f64 = 131_072.0;
const BLOCKS_OF_A_TURN: f64 = 10.0;
/// Most of what the kernel's buffers of a TCP stream hold (tcp(7), `tcp_rmem`, `tcp_wmem`).
const SOCKET_BUFFERS: f64 = 10_485_760.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_has_a_clause_and_a_reason() {
        let is_clause = |text: &str| text.split('.').all(|part| part.parse::<u8>().is_ok());
        assert!(DEVIATIONS.iter().all(|one| is_clause(one.clause) && !one.reason.is_empty()));
    }
}
