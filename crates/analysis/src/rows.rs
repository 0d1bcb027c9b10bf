//! Refines the verdicts on the rows of one run by comparing them. A row is one record of the run,
//! e.g. of TCP send or of UDP receive.
//!
//! A pattern is one file in `rows/`, and a line in [`PATTERNS`]. It says what several rows show
//! that one alone does not: four rows that stop at one rate on the wire name the path.

use std::collections::BTreeMap;

use measurement::verdict::Finding;
use measurement::{Conclusion, TestRecord, Verdict};

mod another_congestion_control;
mod datagrams_below_tcp;
pub(crate) mod equal_wire_rates;
pub(crate) mod larger_window;
mod loss_at_any_rate;
mod one_direction;
mod per_connection;
mod row;
pub(crate) mod slower;
mod slower_without_loss;
pub(crate) mod small_packets_pass;
mod streams_add_up;

pub(crate) use row::{DirectionRow, rows, way};

/// One pattern: what it shows of each of the records that it speaks of.
type Pattern = fn(&[DirectionRow<'_>]) -> BTreeMap<usize, Shown>;

/// What a pattern shows of a record.
enum Shown {
    /// What limits.
    Limit(Finding),
    /// Evidence for what was found first.
    Evidence(String),
}

/// The patterns, the most telling first: the first that names a limit of a row decides.
const PATTERNS: &[Pattern] = &[
    small_packets_pass::shown,
    loss_at_any_rate::shown,
    slower_without_loss::shown,
    datagrams_below_tcp::shown,
    equal_wire_rates::shown,
    per_connection::shown,
    larger_window::shown,
    another_congestion_control::shown,
    streams_add_up::shown,
    one_direction::shown,
];

/// Judges records of one run together: the verdict of a record is replaced where the others show
/// what it alone could not.
pub(crate) fn refine(records: &mut [TestRecord]) {
    let mut decided = BTreeMap::new();
    for pattern in PATTERNS {
        for (index, shown) in pattern(&rows(records)) {
            if let Shown::Limit(finding) = &shown
                && *decided.entry(index).or_insert(finding.rule) != finding.rule
            {
                continue;
            }
            let verdict = records[index].judgement.as_mut().and_then(|one| one.verdict.as_mut());
            if let Some(verdict) = verdict {
                shown.refine(verdict);
            }
        }
    }
}

impl Shown {
    fn refine(self, verdict: &mut Verdict) {
        match self {
            Self::Limit(finding) => lead(verdict, finding),
            Self::Evidence(text) => match verdict.findings.first_mut() {
                Some(first) => first.evidence.push(text),
                None => verdict.sentence = format!("{}; {text}", verdict.sentence),
            },
        }
    }
}

/// Makes a finding the headline.
fn lead(verdict: &mut Verdict, finding: Finding) {
    verdict.findings.retain(|one| one.rule != finding.rule);
    verdict.conclusion = Conclusion::Limited;
    verdict.sentence = format!("{}; {}", finding.text, finding.remedy);
    verdict.would_decide = None;
    verdict.findings.insert(0, finding);
}

#[cfg(test)]
mod tests;
