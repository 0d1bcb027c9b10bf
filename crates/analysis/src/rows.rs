//! The rows of one run together: TCP and UDP, both directions, are one experiment.
//!
//! A pattern is one file in `rows/`, and a line in [`PATTERNS`]. It says what several rows show
//! that one alone does not: four rows that stop at one rate on the wire name the path.

use std::collections::BTreeMap;

use measurement::verdict::Finding;
use measurement::{
    Certainty, Conclusion, Direction, DirectionOutcome, Role, RuleId, TestRecord, Transport,
    Verdict,
};

use crate::evidence::sender;
use crate::framing;

mod equal_wire_rates;
mod one_direction;
mod per_connection;
mod streams_add_up;

/// One pattern: what it shows of each of the records that it speaks of.
type Pattern = fn(&[Row<'_>]) -> BTreeMap<usize, Shown>;

/// What a pattern shows of a record.
enum Shown {
    /// What limits.
    Limit(Finding),
    /// Evidence for what was found first.
    Evidence(String),
}

/// The patterns, the most telling first.
const PATTERNS: &[Pattern] =
    &[equal_wire_rates::shown, per_connection::shown, streams_add_up::shown, one_direction::shown];

/// One direction of one record.
pub(crate) struct Row<'a> {
    /// Index of its record.
    pub(crate) record: usize,
    pub(crate) plan: &'a measurement::TestPlan,
    pub(crate) outcome: &'a DirectionOutcome,
    verdict: Option<&'a Verdict>,
    /// Payload that arrived, in bits per second.
    pub(crate) delivered: f64,
    /// Payload and headers that arrived, in bits per second, as queueing disciplines count them.
    pub(crate) on_wire: f64,
}

/// Judges records of one run together: the verdict of a record is replaced where the others show
/// what it alone could not.
pub(crate) fn refine(records: &mut [TestRecord]) {
    for pattern in PATTERNS {
        for (index, shown) in pattern(&rows(records)) {
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
            Self::Evidence(text) => {
                verdict
                    .findings
                    .first_mut()
                    .into_iter()
                    .for_each(|first| first.evidence.push(text.clone()));
            }
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

fn rows(records: &[TestRecord]) -> Vec<Row<'_>> {
    let all = records.iter().enumerate();
    all.flat_map(|(index, record)| {
        let directions = record.outcome.directions.iter();
        directions.filter_map(move |outcome| row(index, record, outcome))
    })
    .collect()
}

fn row<'a>(index: usize, record: &'a TestRecord, outcome: &'a DirectionOutcome) -> Option<Row<'a>> {
    let delivered = outcome.delivered.or(outcome.acknowledged)?.rate.bits_per_second() as f64;
    let share = framing::payload_share_of_frames(record, mtu(record))?;
    Some(Row {
        record: index,
        plan: &record.plan,
        outcome,
        verdict: record.judgement.as_ref()?.verdict.as_ref(),
        delivered,
        on_wire: delivered / share,
    })
}

/// The least MTU of the interfaces that carried the test; that of Ethernet where none is known.
fn mtu(record: &TestRecord) -> u32 {
    let carried = record.hosts.iter().flat_map(|host| {
        let all = host.inventory.interfaces.iter();
        all.filter(|one| host.interfaces.contains(&one.name)).map(|one| one.mtu)
    });
    carried.filter(|mtu| *mtu > 0).min().unwrap_or(ETHERNET)
}

impl Row<'_> {
    pub(crate) fn is_tcp(&self) -> bool {
        self.plan.transport == Transport::Tcp
    }

    pub(crate) const fn direction(&self) -> Direction {
        self.outcome.direction
    }

    /// The headline, where the row alone has one.
    pub(crate) fn headline(&self) -> Option<&Finding> {
        let verdict = self.verdict.filter(|one| one.conclusion == Conclusion::Limited)?;
        verdict.findings.first()
    }

    /// Something of a host was found to limit this row.
    pub(crate) fn is_limited_by_a_host(&self) -> bool {
        self.headline().is_some_and(|finding| finding.host.is_some())
    }

    /// Everything that was asked arrived.
    pub(crate) fn is_delivered(&self) -> bool {
        self.verdict.is_some_and(|verdict| verdict.conclusion == Conclusion::Delivered)
    }

    /// What a rule found in this row.
    pub(crate) fn found(&self, rule: RuleId) -> Option<&Finding> {
        let findings = self.verdict.map_or(&[][..], |verdict| &verdict.findings);
        findings.iter().find(|one| one.rule == rule)
    }

    /// The evidence of this row alone speaks for the path.
    pub(crate) fn points_at_the_path(&self) -> bool {
        let findings = self.verdict.map_or(&[][..], |verdict| &verdict.findings);
        findings.iter().any(|one| one.host.is_none() && one.certainty > Certainty::Note)
    }
}

/// From which end to which in words: `from this host to the server`.
pub(crate) fn way(direction: Direction) -> &'static str {
    match sender(direction) {
        Role::Here => "from this host to the server",
        Role::Peer | Role::Observed(_) => "from the server to this host",
    }
}

const ETHERNET: u32 = 1_500;

#[cfg(test)]
mod tests;
