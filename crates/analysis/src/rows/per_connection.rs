//! UDP passes what TCP does not: the path has room, and a connection does not use it.

use std::collections::BTreeMap;

use measurement::verdict::Finding;
use measurement::{BitRate, Bound, Certainty, Effect, IntoMap, RuleId};

use super::{DirectionRow, Shown};

pub(super) fn shown(rows: &[DirectionRow<'_>]) -> BTreeMap<usize, Shown> {
    let slow = rows.iter().filter(|row| row.is_tcp() && !row.is_delivered());
    let slow = slow.filter(|row| !row.is_limited_by_a_host());
    // Of a path that takes small packets only, small datagrams are no measure.
    let slow = slow.filter(|row| row.found(RuleId::PathMtuBlackHole).is_none());
    slow.filter_map(|row| Some((row.record, of_row(row, passed(rows, row)?)))).into_map()
}

/// What UDP got through in that direction, where that is much more.
fn passed(rows: &[DirectionRow<'_>], slow: &DirectionRow<'_>) -> Option<BitRate> {
    let same_way = rows.iter().filter(|row| !row.is_tcp() && row.direction() == slow.direction());
    let most = same_way.map(|row| row.delivered).fold(0.0, f64::max);
    (most > 0.0 && most >= MUCH_MORE * slow.delivered).then(|| Bound::exact(most, "").to)
}

/// The rate of the path is not what limits: a queue that stands all the same is on the way back,
/// and without one it is the loss.
fn of_row(row: &DirectionRow<'_>, passed: BitRate) -> Shown {
    let evidence = format!("UDP gets {passed} through in the same direction");
    let lead = |mut finding: Finding| {
        finding.evidence.push(evidence.clone());
        Shown::Limit(Finding { certainty: Certainty::Limit, ..finding })
    };
    match (row.found(RuleId::StandingQueue), row.found(RuleId::TcpPathLoss)) {
        (Some(queue), _) => lead(way_back(queue)),
        (None, Some(loss)) => lead(loss.clone()),
        (None, None) => Shown::Evidence(evidence),
    }
}

fn way_back(queue: &Finding) -> Finding {
    Finding {
        rule: RuleId::AckPathLimited,
        effect: Effect::Delay,
        text: "acknowledgements are delayed or lost on the reverse path".to_owned(),
        remedy: "look for a shaper or loss from the receiver to the sender (--observe \
                 HOST)"
            .into(),
        ..queue.clone()
    }
}

/// Than TCP gets.
const MUCH_MORE: f64 = 2.0;
