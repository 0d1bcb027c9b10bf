//! Nothing arrives: nothing at all, or no large packet?

use measurement::ByteSize;
use measurement::plan::PlanDraft;

use super::{Deciding, paced};
use crate::rows::DirectionRow;
use crate::rows::small_packets_pass::nothing_arrived;

pub(super) fn asked(row: &DirectionRow<'_>, rows: &[DirectionRow<'_>]) -> Option<Deciding> {
    let mut same_way = rows.iter().filter(|other| other.direction() == row.direction());
    let is_asked = same_way.any(|other| other.payload().is_some_and(|bytes| bytes <= SMALL));
    if !nothing_arrived(row) || is_asked {
        return None;
    }
    let mut draft = PlanDraft::from(paced(row, RATE)?);
    draft.options.block = Some(ByteSize::from_bytes(SMALL));
    Some(Deciding { plan: draft.check().ok()?, question: "do small packets arrive?" })
}

/// Bytes of payload: with headers less than every link of IPv4 passes whole (RFC 791: 576).
const SMALL: u64 = 500;
/// In bits per second.
const RATE: f64 = 1_000_000.0;
