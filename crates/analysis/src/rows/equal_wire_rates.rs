//! Rows of several kinds stop at one rate on the wire: the path has that rate.

use std::collections::BTreeMap;

use measurement::verdict::Finding;
use measurement::{BitRate, Bound, Certainty, Direction, Effect, IntoMap, RuleId};

use super::{DirectionRow, Shown};
use crate::words::percent;

pub(super) fn shown(rows: &[DirectionRow<'_>]) -> BTreeMap<usize, Shown> {
    let all = rows.iter().filter(|row| !row.is_delivered() && !is_held_back(row));
    let all: Vec<_> = all.collect();
    let both = of_group(&all, "the path");
    if !both.is_empty() {
        return both;
    }
    let ways = [Direction::Send, Direction::Receive].into_iter();
    let each = ways.flat_map(|direction| {
        let one = all.iter().copied().filter(|row| row.direction() == direction);
        let one: Vec<_> = one.collect();
        let equal = of_group(&one, path(direction));
        if equal.is_empty() { below_datagrams(&one) } else { equal }
    });
    each.into_map()
}

/// Nearly all that was asked arrived: such a row stops at the rate that was asked.
pub(crate) fn is_held_back(row: &DirectionRow<'_>) -> bool {
    row.asked().is_some_and(|asked| row.delivered >= NEARLY_ALL * asked)
}

/// What a group of rows shows together; nothing if they differ, or a host limits one of them.
fn of_group(rows: &[&DirectionRow<'_>], place: &str) -> BTreeMap<usize, Shown> {
    let kinds = |is: fn(&&&DirectionRow<'_>) -> bool| rows.iter().any(|row| is(&row));
    let is_of_both = kinds(|row| row.is_tcp()) && kinds(|row| !row.is_tcp());
    // No CPU makes TCP and UDP equal; what drops at a host, or is configured there, does.
    let is_blamed = rows.iter().any(|row| row.is_limited_at_a_host());
    let points = rows.iter().any(|row| row.points_at_the_path());
    let is_plain = points || (rows.len() > 2 && are_within(rows, ALIKE));
    if !is_of_both || is_blamed || !is_plain || !are_equal(rows) {
        return BTreeMap::new();
    }
    let rate = rate(rows);
    rows.iter()
        .map(|row| (row.record, Shown::Limit(finding(row, rate, rows.len(), place))))
        .into_map()
}

/// TCP gets a good part of the rate at which the path was seen to drop datagrams: it is the same
/// limit, that of a policer say, which TCP does not fill.
fn below_datagrams(rows: &[&DirectionRow<'_>]) -> BTreeMap<usize, Shown> {
    let is_limit = |row: &&&DirectionRow<'_>| {
        !row.is_tcp() && row.headline().is_some_and(|one| one.rule == RuleId::PathRateLimit)
    };
    let Some(limit) = rows.iter().find(is_limit) else { return BTreeMap::new() };
    let tcp = rows.iter().filter(|row| row.is_tcp() && !row.is_limited_at_a_host());
    let most = limit.limit_on_wire();
    let tcp = tcp.filter(|row| (PART * most..=EQUAL * most).contains(&row.on_wire));
    let shown = |row: &DirectionRow<'_>| Shown::Limit(same_limit(row, limit));
    tcp.map(|row| (row.record, shown(row))).into_map()
}

fn same_limit(row: &DirectionRow<'_>, limit: &DirectionRow<'_>) -> Finding {
    let on_wire = limit.limit_on_wire();
    let rate = Bound::exact(on_wire, "").to;
    let payload = row.delivered / row.on_wire * on_wire;
    let part = percent((row.on_wire / on_wire).min(1.0));
    Finding {
        text: format!("the path is the limit: it drops what is above {rate} on the wire"),
        effect: Effect::Rate(Bound::exact(payload, format!("payload in {rate} of frames"))),
        evidence: vec![format!("UDP stops there; TCP gets {part} of it")],
        ..finding(row, rate, 0, "")
    }
}

fn finding(row: &DirectionRow<'_>, rate: BitRate, rows: usize, place: &str) -> Finding {
    let count = if rows == 2 { "both".to_owned() } else { format!("all {rows}") };
    let text = format!("{place} is the limit: {count} rows stop at {rate} on the wire");
    let payload = row.delivered / row.on_wire * rate.bits_per_second() as f64;
    Finding {
        rule: RuleId::PathRateLimit,
        certainty: Certainty::Limit,
        share: 1.0,
        effect: Effect::Rate(Bound::exact(payload, format!("payload in {rate} of frames"))),
        host: None,
        direction: None,
        text,
        evidence: vec!["TCP and UDP get the same rate on the wire".to_owned()],
        remedy: REMEDY.into(),
    }
}

const fn path(direction: Direction) -> &'static str {
    match direction {
        Direction::Receive => "the path from the server",
        Direction::Send | Direction::Both => "the path to the server",
    }
}

/// Whether rows stop at one rate on the wire.
pub(crate) fn are_equal(rows: &[&DirectionRow<'_>]) -> bool {
    are_within(rows, EQUAL)
}

fn are_within(rows: &[&DirectionRow<'_>], most: f64) -> bool {
    let rates = || rows.iter().map(|row| row.on_wire);
    rates().fold(0.0, f64::max) <= most * rates().fold(f64::MAX, f64::min)
}

/// The greatest: TCP loses a little to its start and its retransmissions.
fn rate(rows: &[&DirectionRow<'_>]) -> BitRate {
    let most = rows.iter().map(|row| row.on_wire).fold(0.0, f64::max);
    Bound::exact(most, "").to
}

const REMEDY: &str = "find the slowest hop: run linerate serve --observe on the routers, add \
                      --observe ROUTER here";
/// Of the rate at which datagrams stop.
const PART: f64 = 0.4;
/// The greatest rate against the least.
const EQUAL: f64 = 1.08;
/// Where nothing else points at the path.
const ALIKE: f64 = 1.03;
/// Of the requested rate.
const NEARLY_ALL: f64 = 0.9;
