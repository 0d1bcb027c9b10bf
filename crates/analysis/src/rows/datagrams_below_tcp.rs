//! TCP gets clearly more than datagrams whose sender did not reach the rates that were tried: that sender
//! is their limit, and not the path.

use std::collections::BTreeMap;

use measurement::verdict::Finding;
use measurement::{Bound, Certainty, Effect, RateSearchEnd, RuleId};

use super::{DirectionRow, Shown};
use crate::evidence::sender;
use crate::words;

pub(super) fn shown(rows: &[DirectionRow<'_>]) -> BTreeMap<usize, Shown> {
    let mut below = BTreeMap::new();
    for row in rows.iter().filter(|row| is_held_up(row)) {
        let tcp = rows.iter().filter(|one| one.is_tcp() && one.direction() == row.direction());
        let most = tcp.max_by(|one, other| one.on_wire.total_cmp(&other.on_wire));
        if let Some(most) = most.filter(|most| most.on_wire > MORE * row.limit_on_wire()) {
            below.insert(row.record, Shown::Limit(finding(row, most)));
        }
    }
    below
}

/// Its sender fell short of rates at which nothing was lost, and no counter of a host says why.
fn is_held_up(row: &DirectionRow<'_>) -> bool {
    let Some(search) = row.test.trials.rate.as_ref() else { return false };
    let is_loss = search.end == RateSearchEnd::Loss || search.floor.is_some();
    let fell_short = search.trials.iter().any(|trial| {
        let sent = trial.sent.bits_per_second() as f64;
        sent < SHORT * trial.asked.bits_per_second() as f64
    });
    !is_loss && fell_short && !row.is_limited_by_a_host()
}

fn finding(row: &DirectionRow<'_>, tcp: &DirectionRow<'_>) -> Finding {
    let end = sender(row.direction());
    let rate = Bound::exact(row.delivered, "").to;
    let path = Bound::exact(tcp.on_wire, "").to;
    let text = format!("{} cannot send more than {rate} of datagrams", words::host(&end));
    Finding {
        rule: RuleId::SenderBelowRate,
        certainty: Certainty::Limit,
        share: 1.0,
        effect: Effect::Rate(Bound::exact(row.delivered, "what was sent, without loss")),
        host: Some(end),
        direction: Some(row.direction()),
        text,
        evidence: vec![format!("TCP gets {path} on the wire of the same path")],
        remedy: REMEDY.into(),
    }
}

const REMEDY: &str = "use longer datagrams (-l), more streams (-P) or faster engines (--fastest)";
/// The rate of TCP on the wire, against the limit of datagrams.
const MORE: f64 = 1.08;
/// A sender that reached less of a rate fell short of it.
const SHORT: f64 = 0.97;
