//! A slower run of UDP loses nothing: what is lost above it is what the path does not pass.

use std::collections::BTreeMap;

use measurement::verdict::Finding;
use measurement::{BitRate, Bound, Certainty, Effect, IntoMap, RuleId};

use super::{DirectionRow, Shown, slower};
use crate::words::percent;

pub(super) fn shown(rows: &[DirectionRow<'_>]) -> BTreeMap<usize, Shown> {
    let open = rows.iter().filter(|row| !row.is_delivered() && !row.is_limited_by_a_host());
    open.filter_map(|row| Some((row.record, Shown::Limit(of_row(row, rows)?)))).into_map()
}

fn of_row(row: &DirectionRow<'_>, rows: &[DirectionRow<'_>]) -> Option<Finding> {
    let slower = slower::than(row, rows)?;
    let faster = faster(row, rows)?;
    let is_shown = slower::is_significant(slower.datagrams(), suspected_loss(row, faster));
    let clean = slower.paced()?;
    (slower.loss() <= slower::NOTICED && is_shown).then(|| finding(row, faster, clean))
}

/// The row of datagrams that shows what the path passes at most: this one, or one beside it.
fn faster<'r, 'a>(
    row: &'r DirectionRow<'a>,
    rows: &'r [DirectionRow<'a>],
) -> Option<&'r DirectionRow<'a>> {
    if !row.is_tcp() {
        return Some(row).filter(|row| row.path_loss() > slower::NOTICED);
    }
    let beside = rows.iter().filter(|other| row.has_datagrams_in(other));
    let lossy =
        beside.filter(|other| other.path_loss() >= slower::MUCH && !other.is_limited_by_a_host());
    lossy.max_by(|one, other| one.delivered.total_cmp(&other.delivered))
}

/// The share that the slower run would lose if the loss were random.
fn suspected_loss(row: &DirectionRow<'_>, faster: &DirectionRow<'_>) -> f64 {
    let queues = [RuleId::PathRateLimit, RuleId::StandingQueue];
    let has_queue = queues.iter().any(|rule| row.found(*rule).is_some());
    match row.path_loss() {
        loss if loss > slower::NOTICED => loss,
        _ if has_queue => faster.path_loss(),
        _ => 0.0,
    }
}

fn finding(row: &DirectionRow<'_>, faster: &DirectionRow<'_>, clean: BitRate) -> Finding {
    let bound = Bound::exact(faster.delivered, "what a faster run let through");
    let (most, lost) = (bound.to, percent(row.path_loss()));
    let own = Bound::exact(row.delivered, bound.arithmetic);
    Finding {
        rule: RuleId::PathRateLimit,
        certainty: Certainty::Limit,
        share: 1.0,
        effect: Effect::Rate(own),
        host: None,
        direction: Some(row.direction()),
        text: format!("the path is the limit: no loss at {clean}, and at most {most} pass"),
        evidence: vec![format!("{lost} lost here, no UDP loss at {clean}")],
        remedy: REMEDY.into(),
    }
}

const REMEDY: &str = "find the slowest hop: run linerate serve --observe on the routers, add \
                      --observe ROUTER here";
