//! One stream of TCP waits for its congestion window: is each stream bounded, or all together?

use super::{Deciding, again};
use crate::bottleneck;
use crate::rows::DirectionRow;

pub(super) fn asked(row: &DirectionRow<'_>, _rows: &[DirectionRow<'_>]) -> Option<Deciding> {
    let is_one = row.is_tcp() && row.plan.streams == 1 && row.is_undecided();
    if !is_one || row.waited_for_the_path() < HALF || !bottleneck::have_cpu_time(row.test) {
        return None;
    }
    let plan = again(row, |draft| draft.streams = STREAMS)?;
    Some(Deciding { plan, question: "do four streams get more than one?" })
}

/// Of the time.
const HALF: f64 = 0.5;
const STREAMS: u32 = 4;
