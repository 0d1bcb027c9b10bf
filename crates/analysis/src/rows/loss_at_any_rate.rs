//! A slower run of UDP loses the same share: the loss has nothing to do with the rate.

use std::collections::BTreeMap;

use measurement::verdict::Finding;
use measurement::{BitRate, Certainty, Effect, IntoMap, RuleId};

use super::{DirectionRow, Shown, slower};
use crate::words::percent;

pub(super) fn shown(rows: &[DirectionRow<'_>]) -> BTreeMap<usize, Shown> {
    let lossy = rows.iter().filter(|row| row.path_loss() >= slower::NOTICED);
    let lossy = lossy.filter(|row| !row.is_limited_by_a_host());
    lossy.filter_map(|row| Some((row.record, Shown::Limit(of_row(row, rows)?)))).into_map()
}

fn of_row(row: &DirectionRow<'_>, rows: &[DirectionRow<'_>]) -> Option<Finding> {
    let slower = slower::than(row, rows)?;
    let is_same = slower.path_loss() >= SAME * row.path_loss();
    let is_seen = slower::is_significant(slower.datagrams(), slower.path_loss());
    let rate = slower.paced()?;
    (is_same && is_seen).then(|| finding(row, slower, rate))
}

fn finding(row: &DirectionRow<'_>, slower: &DirectionRow<'_>, rate: BitRate) -> Finding {
    let (rule, what, of) = if row.is_tcp() {
        (RuleId::TcpPathLoss, "segment", "bytes")
    } else {
        (RuleId::UdpPathLoss, "packet", "datagrams")
    };
    let lost = percent(row.path_loss());
    let seen = format!("UDP at {rate} loses {} of its datagrams", percent(slower.path_loss()));
    let mut finding = row.found(rule).cloned().unwrap_or_else(|| unknown(row, rule));
    finding.certainty = Certainty::Limit;
    finding.text = format!("random {what} loss on the path: {lost} of the {of}, also at {rate}");
    finding.remedy = REMEDY.into();
    finding.evidence.push(seen);
    finding
}

fn unknown(row: &DirectionRow<'_>, rule: RuleId) -> Finding {
    Finding {
        rule,
        certainty: Certainty::Limit,
        share: 1.0,
        effect: Effect::Loss,
        host: None,
        direction: Some(row.direction()),
        text: String::new(),
        evidence: Vec::new(),
        remedy: REMEDY.into(),
    }
}

const REMEDY: &str = "check cables, optics, radio links and port counters (ethtool -S IF); a \
                      lower rate does not help";
/// Of the share that the faster row loses.
const SAME: f64 = 0.5;
