//! TCP with another congestion control gets more: how this one takes loss is the limit.

use std::collections::BTreeMap;

use measurement::{Certainty, IntoMap, RuleId};

use super::{DirectionRow, Shown};

pub(super) fn shown(rows: &[DirectionRow<'_>]) -> BTreeMap<usize, Shown> {
    let slow = rows.iter().filter(|row| row.is_tcp() && !row.is_delivered());
    slow.filter_map(|row| {
        let other = another(row, rows)?;
        let name = other.plan.options.congestion.as_deref()?;
        Some((row.record, of_row(row, name, other.delivered / row.delivered.max(1.0))))
    })
    .into_map()
}

/// The fastest row that differs in nothing else.
fn another<'r, 'a>(
    row: &DirectionRow<'_>,
    rows: &'r [DirectionRow<'a>],
) -> Option<&'r DirectionRow<'a>> {
    let own = &row.plan.options.congestion;
    let alike = rows.iter().filter(|other| {
        let is_other = other.plan.options.congestion != *own;
        is_other && row.is_like(other, |draft| draft.options.congestion.clone_from(own))
    });
    alike.max_by(|one, other| one.delivered.total_cmp(&other.delivered))
}

fn of_row(row: &DirectionRow<'_>, name: &str, times: f64) -> Shown {
    if times < MORE {
        return Shown::Evidence(format!("congestion control {name} is not faster"));
    }
    let seen = format!("congestion control {name} gets {times:.1} times the rate");
    let Some(loss) = row.found(RuleId::TcpPathLoss) else { return Shown::Evidence(seen) };
    let mut finding = loss.clone();
    finding.certainty = Certainty::Limit;
    finding.remedy.sentence = format!("-C {name}, or: {}", loss.remedy.sentence);
    finding.evidence.push(seen);
    Shown::Limit(finding)
}

/// Than this congestion control gets.
const MORE: f64 = 1.3;
