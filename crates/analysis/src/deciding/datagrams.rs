//! TCP loses, or waits in a queue: what does the path do to datagrams, which have no congestion
//! control?

use super::{Deciding, duration, paced};
use crate::rows::equal_wire_rates::{are_equal, is_held_back};
use crate::rows::{DirectionRow, slower};

pub(super) fn asked(row: &DirectionRow<'_>, rows: &[DirectionRow<'_>]) -> Option<Deciding> {
    let beside: Vec<_> = rows.iter().filter(|other| row.has_datagrams_in(other)).collect();
    if !row.is_tcp() || !is_about_the_path(row, &beside) || is_answered(row, &beside) {
        return None;
    }
    match slower::than(row, rows) {
        None => below(row, &beside),
        Some(slower) if slower.loss() <= slower::NOTICED => above(row, &beside),
        Some(_) => None,
    }
}

/// The evidence speaks for the path, or nothing tells that it does not.
fn is_about_the_path(row: &DirectionRow<'_>, beside: &[&DirectionRow<'_>]) -> bool {
    row.headline().is_some() || row.points_at_the_path() || beside.is_empty()
}

/// UDP stops at the same rate, or gets much more through a path on which TCP loses nothing.
fn is_answered(row: &DirectionRow<'_>, beside: &[&DirectionRow<'_>]) -> bool {
    let full = || beside.iter().filter(|other| !is_held_back(other));
    let is_free = |other: &&&DirectionRow<'_>| other.delivered >= MUCH_MORE * row.delivered;
    let loses = row.path_loss() > slower::NOTICED;
    full().any(|other| are_equal(&[row, other]))
        || (!loses && beside.iter().any(|one| is_free(&one)))
}

/// A little slower than TCP: random loss hits it as well.
fn below(row: &DirectionRow<'_>, beside: &[&DirectionRow<'_>]) -> Option<Deciding> {
    let rate = BELOW * row.delivered;
    let bytes = row.payload().filter(|bytes| *bytes > 0)?;
    let datagrams = rate * duration(row).as_secs_f64() / (8.0 * bytes as f64);
    let (loss, can_tell) = (row.path_loss(), slower::is_significant(datagrams, row.path_loss()));
    if (loss > slower::NOTICED && !can_tell) || !can_be_sent(rate, beside) {
        return None;
    }
    let plan = paced(row, rate)?;
    Some(Deciding { plan, question: "does UDP lose as well, a little slower than TCP?" })
}

/// Much faster than TCP: a rate limit drops what is above it.
fn above(row: &DirectionRow<'_>, beside: &[&DirectionRow<'_>]) -> Option<Deciding> {
    let rate = ABOVE * row.delivered;
    let is_run = |other: &&DirectionRow<'_>| {
        let is_faster = other.offered().is_some_and(|rate| rate >= MUCH_MORE * row.delivered);
        is_faster || other.path_loss() >= slower::MUCH || other.is_searched()
    };
    if beside.iter().any(is_run) || !can_be_sent(rate, beside) {
        return None;
    }
    let plan = paced(row, rate)?;
    Some(Deciding { plan, question: "does UDP get more through than TCP?" })
}

/// No row of as much as goes was sent more slowly.
fn can_be_sent(rate: f64, beside: &[&DirectionRow<'_>]) -> bool {
    let floods = beside.iter().filter(|other| other.paced().is_none());
    floods.filter_map(|flood| flood.offered()).all(|offered| offered >= rate)
}

/// Of the rate of TCP.
const BELOW: f64 = 0.9;
const ABOVE: f64 = 2.2;
/// Than TCP gets.
const MUCH_MORE: f64 = 2.0;
