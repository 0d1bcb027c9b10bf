//! Where every datagram of a direction went.
//!
//! The numbers of both ends say how many are missing; the counters of the hosts say where
//! they can have been dropped. No drop is invented: what no counter explains remains.

use measurement::host::Family;
#[cfg(test)]
use measurement::judgement::Drop;
use measurement::outcome::DatagramParts;
use measurement::{DatagramLedger, DirectionOutcome, Ledger, TestRecord};

use crate::evidence::HostView;

mod allotment;
mod checkpoints;
mod counters;
mod known;
mod pieces;
mod receiving;
mod sending;
mod socket;
#[cfg(test)]
mod tests;
mod way;

use allotment::Allotment;

/// One direction, and the hosts that may tell of it.
pub(crate) struct DirectionEvidence<'a> {
    pub(crate) record: &'a TestRecord,
    pub(crate) outcome: &'a DirectionOutcome,
    pub(crate) sender: Option<&'a HostView<'a>>,
    pub(crate) receiver: Option<&'a HostView<'a>>,
    /// All of them.
    pub(crate) hosts: &'a [HostView<'a>],
}

/// The ledger of a direction; none: it has no datagrams, or the receiver's word is missing.
pub(crate) fn place_datagrams(ends: &DirectionEvidence<'_>) -> Option<Ledger> {
    let mut ledger = opened(ends.outcome.datagrams.as_ref()?);
    ledger.sender_told = ends.sender.is_some_and(|host| host.reports(Family::SNMP));
    ledger.receiver_told =
        ends.receiver.is_some_and(|host| host.reports(Family::SNMP)) || socket::own(ends).is_some();
    let mut candidates = sending::candidates(ends);
    candidates.extend(way::candidates(ends));
    candidates.extend(receiving::candidates(ends));
    checkpoints::narrow(ends, ledger.lost(), &mut candidates);
    let Allotment { drops, remainder, least, most } = allotment::allot(ledger.lost(), candidates);
    (ledger.drops, ledger.remainder) = (drops, remainder);
    (ledger.remainder_least, ledger.remainder_most) = (least, most);
    Some(ledger)
}

/// What both ends counted, before any of it is placed.
fn opened(counted: &DatagramLedger) -> Ledger {
    let DatagramParts { received, in_flight, late, tail, .. } = counted.parts();
    Ledger { sent: counted.sent, received, late, in_flight, tail, ..Ledger::default() }
}

/// Whether every datagram is placed: what was sent is what lies in the parts.
#[cfg(test)]
fn is_conserved(ledger: &Ledger) -> bool {
    let parts = [ledger.received, ledger.late, ledger.in_flight, ledger.remainder];
    let dropped = ledger.drops.iter().map(|drop: &Drop| u128::from(drop.datagrams));
    parts.into_iter().map(u128::from).chain(dropped).sum::<u128>() == u128::from(ledger.sent)
}
