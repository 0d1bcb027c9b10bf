//! Small packets arrive, large ones do not: the path has a smaller MTU, and does not say so.

use std::collections::BTreeMap;

use measurement::verdict::Finding;
use measurement::{Bound, Certainty, Effect, IntoMap, RuleId};

use super::DirectionRow;
use super::Shown;
use crate::words::count;

pub(super) fn shown(rows: &[DirectionRow<'_>]) -> BTreeMap<usize, Shown> {
    let silent = rows.iter().filter(|row| nothing_arrived(row));
    silent.filter_map(|row| Some((row.record, Shown::Limit(of_row(row, rows)?)))).into_map()
}

/// Whether of a row next to nothing arrived.
pub(crate) fn nothing_arrived(row: &DirectionRow<'_>) -> bool {
    let is_sent = row.is_tcp() || row.datagrams() > 0.0;
    is_sent && row.delivered < NOTHING
}

fn of_row(row: &DirectionRow<'_>, rows: &[DirectionRow<'_>]) -> Option<Finding> {
    let large = row.payload()?;
    let same_way = rows.iter().filter(|other| other.direction() == row.direction());
    let arrived = same_way.filter(|other| !nothing_arrived(other) && other.loss() < HALF);
    let small = arrived.filter_map(DirectionRow::payload).filter(|small| *small < large).max()?;
    Some(finding(row, small, large))
}

fn finding(row: &DirectionRow<'_>, small: u64, large: u64) -> Finding {
    let text = format!(
        "path MTU black hole: datagrams of {} bytes arrive, those of {} do not",
        count(small),
        count(large)
    );
    Finding {
        rule: RuleId::PathMtuBlackHole,
        certainty: Certainty::Limit,
        share: 1.0,
        effect: Effect::Rate(Bound::exact(row.delivered, "what arrived")),
        host: None,
        direction: Some(row.direction()),
        text,
        evidence: vec![format!("UDP of {} bytes arrived", count(small))],
        remedy: REMEDY.into(),
    }
}

const REMEDY: &str = "let ICMP \"fragmentation needed\" pass, or lower the MTU at both ends (a \
                      tunnel on the path?)";
/// In bits per second of payload: a connection that stands still sent its first window, if any.
const NOTHING: f64 = 50_000.0;
/// Of the datagrams.
const HALF: f64 = 0.5;
