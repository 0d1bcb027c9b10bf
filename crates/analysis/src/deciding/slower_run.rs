//! UDP loses on the path: at random, or since more is sent than the path passes?

use super::{Deciding, again, duration, rounded};
use crate::rows::{DirectionRow, slower};

pub(super) fn asked(row: &DirectionRow<'_>, rows: &[DirectionRow<'_>]) -> Option<Deciding> {
    let loses = (slower::NOTICED..MUCH).contains(&row.path_loss());
    if row.is_tcp() || !loses || slower::than(row, rows).is_some() {
        return None;
    }
    let rate = PART * row.delivered;
    let bytes = row.payload().filter(|bytes| *bytes > 0)?;
    let datagrams = rate * duration(row).as_secs_f64() / (8.0 * bytes as f64);
    if !slower::is_significant(datagrams, row.path_loss()) {
        return None;
    }
    let each = rounded(rate / f64::from(row.plan.streams));
    let plan = again(row, |draft| draft.options.rate = Some(each))?;
    Some(Deciding { plan, question: "does a slower run lose as well?" })
}

/// Of the rate that arrived.
const PART: f64 = 0.7;
/// More is a rate limit by itself.
const MUCH: f64 = 0.5;
