//! Rows that differ in the number of streams: what each stream gets, or all together, is bounded.

use std::collections::BTreeMap;

use measurement::IntoMap;

use super::{DirectionRow, Shown};

pub(super) fn shown(rows: &[DirectionRow<'_>]) -> BTreeMap<usize, Shown> {
    let few = rows.iter().filter(|row| !row.is_delivered());
    few.filter_map(|few| {
        let many = rows.iter().find(|many| is_with_more(few, many))?;
        Some((few.record, Shown::Evidence(in_words(few, many))))
    })
    .into_map()
}

/// The row with at least twice the streams.
fn is_with_more(few: &DirectionRow<'_>, many: &DirectionRow<'_>) -> bool {
    many.plan.transport == few.plan.transport
        && many.direction() == few.direction()
        && many.plan.streams >= 2 * few.plan.streams
}

fn in_words(few: &DirectionRow<'_>, many: &DirectionRow<'_>) -> String {
    let (times, streams) = (many.delivered / few.delivered.max(1.0), many.plan.streams);
    let most = f64::from(streams) / f64::from(few.plan.streams);
    match times {
        _ if times >= NEARLY_ALL * most => {
            format!("{streams} streams get {times:.1} times the rate: each is limited by itself")
        }
        _ if times < LITTLE => format!("{streams} streams get no more: they share the limit"),
        _ => format!("{streams} streams get {times:.1} times the rate"),
    }
}

/// Of the rate times the number of streams.
const NEARLY_ALL: f64 = 0.7;
/// More than one stream gets.
const LITTLE: f64 = 1.15;
