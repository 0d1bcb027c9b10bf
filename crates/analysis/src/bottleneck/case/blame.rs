//! How much of the loss drops at one place explain.

use measurement::{Certainty, Role};

use super::Case;
use crate::accounts::Flow;
use crate::evidence::{Flowing, HostView};
use crate::words::share;

/// What drops explain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Blame {
    pub(crate) certainty: Certainty,
    /// Of what is missing, from 0 to 1.
    pub(crate) share: f64,
}

impl Case<'_> {
    /// What so many drops on a host explain, of what it received or sent; none: nothing was
    /// dropped, or nothing is missing.
    pub(crate) fn blame(&self, host: &HostView<'_>, flowing: Flowing, drops: u64) -> Option<Blame> {
        let flows: Vec<_> = self.through(host.role(), flowing).collect();
        if flows.is_empty() || drops == 0 {
            return None;
        }
        let sum = |of: fn(&Flow<'_>) -> u64| flows.iter().map(|flow| of(flow)).sum::<u64>();
        let (missing, sent) = (sum(missing), sum(sent));
        let explained = share(drops, missing).min(1.0);
        let is_shown = explained >= MOST_OF_IT && share(missing, sent) >= TOLERATED;
        let certainty = if is_shown { Certainty::Limit } else { Certainty::Candidate };
        Some(Blame { certainty, share: explained })
    }

    /// How much of the loss `drops` among `packets` explain, where a packet may hold several segments
    /// (GSO, GRO): the larger of their number and their part of the packets; of a policer, which
    /// drops long packets, as many segments as they may have held.
    pub(crate) fn blame_of_packets(
        &self,
        host: &HostView<'_>,
        flowing: Flowing,
        (drops, packets): (u64, u64),
    ) -> Option<Blame> {
        let by_number = self.blame(host, flowing, drops)?;
        let flows: Vec<_> = self.through(host.role(), flowing).collect();
        let sum = |of: fn(&Flow<'_>) -> u64| flows.iter().map(|flow| of(flow)).sum::<u64>();
        if sum(missing) == 0 {
            return None;
        }
        let part = share(sum(missing), sum(sent));
        let by_part = share(drops, packets) / part.max(f64::MIN_POSITIVE);
        let are_long = share(packets, sum(sent)) < JOINED && by_part >= A_PART;
        let at_most = share(drops.saturating_mul(SEGMENTS), sum(missing));
        let explains = if are_long { by_part.max(at_most) } else { by_part };
        let share = explains.clamp(by_number.share, 1.0);
        let is_shown = share >= MOST_OF_IT && part >= TOLERATED;
        let certainty = if is_shown { Certainty::Limit } else { by_number.certainty };
        Some(Blame { certainty, share })
    }

    /// Directions in which something is missing and that go through a host that way.
    pub(crate) fn through(&self, role: &Role, flowing: Flowing) -> impl Iterator<Item = &Flow<'_>> {
        self.wanting().filter(move |flow| match (role, flowing) {
            (Role::Observed(_), _) => true,
            (end, Flowing::In) => flow.receiver() == *end,
            (end, Flowing::Out) => flow.sender() == *end,
        })
    }

    /// Something is missing; or there was no test, and it is asked what could be.
    pub(crate) fn is_open(&self) -> bool {
        self.test.is_none() || self.wanting().next().is_some()
    }
}

/// Datagrams that did not arrive, or segments that were sent again and had not arrived, as far as the
/// sender tells.
pub(crate) fn missing(flow: &Flow<'_>) -> u64 {
    let spurious = flow.account.tcp.as_ref().map_or(0, |tcp| tcp.spurious_segments);
    match (&flow.account.ledger, flow.outcome.retransmits) {
        (Some(ledger), _) => ledger.lost(),
        (None, retransmits) => retransmits.unwrap_or(0).saturating_sub(spurious),
    }
}

/// Datagrams that were sent, or about as many segments.
pub(crate) fn sent(flow: &Flow<'_>) -> u64 {
    let bytes = flow.outcome.offered.map_or(0, |offered| offered.bytes);
    flow.account.ledger.as_ref().map_or(bytes / SEGMENT, |ledger| ledger.sent)
}

/// Payload of a segment of Ethernet with time stamps (RFC 7323), in bytes.
const SEGMENT: u64 = 1_448;
/// Segments of Ethernet in a packet of 64 KiB (GSO, GRO).
const SEGMENTS: u64 = 45;
/// So few packets for each segment say that many were joined, not that some were lost.
const JOINED: f64 = 0.75;
/// Part of the loss that the number of packets explains at least where long ones were dropped.
const A_PART: f64 = 0.1;
/// So much of the loss has to be dropped there before that is the reason.
const MOST_OF_IT: f64 = 0.5;
/// Of what was sent; less hardly slows anything. To be calibrated.
const TOLERATED: f64 = 0.000_1;
