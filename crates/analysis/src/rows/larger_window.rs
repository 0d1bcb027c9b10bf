//! TCP with a larger socket buffer: either it was the limit, or it was not.

use std::collections::BTreeMap;

use measurement::verdict::Finding;
use measurement::{ByteSize, Certainty, IntoMap, RuleId};

use super::{DirectionRow, Shown};

pub(super) fn shown(rows: &[DirectionRow<'_>]) -> BTreeMap<usize, Shown> {
    let slow = rows.iter().filter(|row| row.is_tcp() && !row.is_delivered());
    slow.filter_map(|row| {
        let (window, other) = larger(row, rows)?;
        Some((row.record, of_row(row, window, other.delivered / row.delivered.max(1.0))))
    })
    .into_map()
}

/// The row with the largest buffer of all that differ in nothing else.
fn larger<'r, 'a>(
    row: &DirectionRow<'_>,
    rows: &'r [DirectionRow<'a>],
) -> Option<(ByteSize, &'r DirectionRow<'a>)> {
    let own = row.plan.options.window;
    let alike = rows.iter().filter(|other| row.is_like(other, |draft| draft.options.window = own));
    let with = alike.filter_map(|other| Some((other.plan.options.window?, other)));
    let larger = with.filter(|(window, _)| own.is_none_or(|own| *window > own));
    larger.max_by_key(|(window, _)| *window)
}

fn of_row(row: &DirectionRow<'_>, window: ByteSize, times: f64) -> Shown {
    let mut buffers = BUFFERS.iter().filter_map(|rule| row.found(*rule));
    match buffers.next() {
        Some(buffer) if times >= MORE => Shown::Limit(finding(buffer, window, times)),
        _ if times >= MORE => Shown::Evidence(in_words(window, times)),
        _ => Shown::Evidence(format!("a socket buffer of {window} is not faster")),
    }
}

fn finding(buffer: &Finding, window: ByteSize, times: f64) -> Finding {
    let mut finding = Finding { certainty: Certainty::Limit, ..buffer.clone() };
    finding.evidence.push(in_words(window, times));
    finding
}

fn in_words(window: ByteSize, times: f64) -> String {
    format!("a socket buffer of {window} gets {times:.1} times the rate")
}

/// The rules whose cause is the size of a socket buffer.
pub(crate) const BUFFERS: [RuleId; 3] =
    [RuleId::SendBufferLimited, RuleId::ReceiveWindowLimited, RuleId::SocketBufferBelowBdp];
/// Than the smaller buffer gets.
const MORE: f64 = 1.3;
