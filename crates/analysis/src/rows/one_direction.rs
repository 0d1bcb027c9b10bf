//! One direction is slow over TCP and over UDP, the other is not: the limit is on that way.

use std::collections::BTreeMap;

use measurement::{Direction, IntoMap};

use super::{DirectionRow, Shown, way};

pub(super) fn shown(rows: &[DirectionRow<'_>]) -> BTreeMap<usize, Shown> {
    let Some(slow) = slow_direction(rows) else { return BTreeMap::new() };
    let text = format!("only {}: the other direction is faster", way(slow));
    let of_it = rows.iter().filter(|row| row.direction() == slow && !row.is_delivered());
    of_it.map(|row| (row.record, Shown::Evidence(text.clone()))).into_map()
}

/// The direction in which each transport gets much less than in the other; none: there is none.
fn slow_direction(rows: &[DirectionRow<'_>]) -> Option<Direction> {
    let directions = [Direction::Send, Direction::Receive].into_iter();
    let transports = [true, false];
    directions.into_iter().find(|direction| {
        transports.iter().all(|is_tcp| {
            let here =
                fastest(rows, |row| row.is_tcp() == *is_tcp && row.direction() == *direction);
            let there =
                fastest(rows, |row| row.is_tcp() == *is_tcp && row.direction() != *direction);
            here > 0.0 && MUCH_LESS * here <= there
        })
    })
}

/// The fastest of some rows, in bits per second of payload; 0: there is none.
fn fastest(rows: &[DirectionRow<'_>], is_one: impl Fn(&DirectionRow<'_>) -> bool) -> f64 {
    rows.iter().filter(|row| is_one(row)).map(|row| row.delivered).fold(0.0, f64::max)
}

/// So many times the rate of the slow direction.
const MUCH_LESS: f64 = 2.0;
