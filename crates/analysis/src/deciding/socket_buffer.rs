//! A socket buffer may be what bounds TCP: does a larger one get more?

use measurement::{ByteSize, Role};

use super::{Deciding, again};
use crate::evidence::{receiver, sender, senders};
use crate::rows::DirectionRow;
use crate::rows::larger_window::BUFFERS;

pub(super) fn asked(row: &DirectionRow<'_>, _rows: &[DirectionRow<'_>]) -> Option<Deciding> {
    let may_be = BUFFERS.iter().any(|rule| row.found(*rule).is_some());
    if !row.is_tcp() || !row.is_undecided() || !may_be {
        return None;
    }
    let window = wanted(row)?;
    let is_larger = row.plan.options.window.is_none_or(|own| window > own);
    let plan = again(row, |draft| draft.options.window = Some(window))?;
    (is_larger && is_granted(row, window))
        .then_some(Deciding { plan, question: "does a larger socket buffer get more?" })
}

/// Four times what is in flight, in whole MiB; none: the round trip is not known.
fn wanted(row: &DirectionRow<'_>) -> Option<ByteSize> {
    let senders = senders(row.test, row.direction());
    let trips = senders.iter().filter_map(|(one, _)| Some(one.tcp?.min_rtt_micros));
    let micros = trips.filter(|micros| *micros > 0).min()?;
    let bits = row.outcome.headline()?.rate.bits_per_second() / u64::from(row.plan.streams);
    let in_flight = u128::from(bits) * u128::from(micros) / 8_000_000;
    let mebibytes = u64::try_from(TIMES * in_flight / u128::from(MEBIBYTE)).ok()? + 1;
    Some(ByteSize::from_bytes(mebibytes.saturating_mul(MEBIBYTE).max(LEAST)))
}

/// Whether the kernels of both ends grant it, and not less than they grant by themselves
/// (socket(7), tcp(7)); what an end does not tell, it may.
fn is_granted(row: &DirectionRow<'_>, window: ByteSize) -> bool {
    let (sends, receives) = (sender(row.direction()), receiver(row.direction()));
    let ends = [(sends, "net.core.wmem_max"), (receives, "net.core.rmem_max")];
    ends.iter().all(|(role, name)| most(row, role, name).is_none_or(|most| most >= window.bytes()))
}

fn most(row: &DirectionRow<'_>, role: &Role, name: &str) -> Option<u64> {
    let host = row.test.hosts.iter().find(|host| host.role == *role)?;
    host.inventory.settings.get(name)?.trim().parse().ok()
}

/// What is in flight.
const TIMES: u128 = 4;
const MEBIBYTE: u64 = 1 << 20;
/// Twice of it is above what kernels grant by themselves (`net.ipv4.tcp_rmem`, tcp(7)).
const LEAST: u64 = 4 * MEBIBYTE;
