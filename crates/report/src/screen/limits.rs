//! What limits: one block for rows that agree.

use measurement::verdict::Finding;
use measurement::{Certainty, Conclusion, RuleId, Verdict};

use super::{labelled, sentence, table};
use crate::columns::Emphasis;
use crate::runs::Run;

/// Rows with one verdict.
struct Group<'a> {
    names: Vec<String>,
    verdict: &'a Verdict,
}

pub(super) fn lines(rows: &[Run<'_>], width: usize) -> Vec<String> {
    let groups = groups(rows);
    let is_one = groups.len() == 1;
    let blocks = groups.iter().enumerate().flat_map(|(number, group)| {
        let label = if number == 0 { "LIMIT" } else { "" };
        let whose = if is_one { String::new() } else { format!("{}: ", group.names.join(", ")) };
        let mut lines = labelled(label, Emphasis::Strong, &(whose + &text(group)), width);
        if let Some(seen) = evidence(group.verdict).filter(|_| is_one) {
            lines.extend(labelled("", Emphasis::None, &seen, width));
        }
        lines
    });
    blocks.collect()
}

fn groups<'a>(rows: &[Run<'a>]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for (record, run) in rows {
        let verdict = record.judgement.as_ref().and_then(|judged| judged.verdict.as_ref());
        let Some(verdict) = verdict else { continue };
        let name = table::row_name(&record.plan) + run;
        match groups.iter_mut().find(|group| is_alike(group.verdict, verdict)) {
            Some(group) => group.names.push(name),
            None => groups.push(Group { names: vec![name], verdict }),
        }
    }
    groups
}

/// Whether the verdicts of two rows are one on the screen: the same limit at the same place.
fn is_alike(one: &Verdict, other: &Verdict) -> bool {
    let limit = |verdict: &Verdict| headline(verdict).map(|limit| (limit.rule, limit.host.clone()));
    let candidates =
        |verdict: &Verdict| candidates(verdict).map(|one| one.rule).collect::<Vec<_>>();
    one.conclusion == other.conclusion
        && limit(one) == limit(other)
        && (one.conclusion != Conclusion::Undecided || candidates(one) == candidates(other))
}

/// The rules of what limits.
pub(super) fn rules(rows: &[Run<'_>]) -> Vec<RuleId> {
    groups(rows).iter().filter_map(|group| headline(group.verdict)).map(|one| one.rule).collect()
}

/// What limits; none: nothing, or it is not known.
pub(super) fn headline(verdict: &Verdict) -> Option<&Finding> {
    verdict.findings.first().filter(|_| verdict.conclusion == Conclusion::Limited)
}

fn candidates(verdict: &Verdict) -> impl Iterator<Item = &Finding> {
    let all = verdict.findings.iter().filter(|one| one.certainty == Certainty::Candidate);
    all.take(MOST_CANDIDATES)
}

fn text(group: &Group<'_>) -> String {
    match headline(group.verdict) {
        Some(limit) => format!("{}.  [{}]", sentence(&limit.text), limit.rule),
        None if group.verdict.conclusion == Conclusion::Delivered => {
            format!("none: {}.", group.verdict.sentence)
        }
        None => {
            let named: Vec<_> = candidates(group.verdict)
                .map(|one| format!("{} [{}]", one.text, one.rule))
                .collect();
            if named.is_empty() {
                "not found.".to_owned()
            } else {
                format!("not decided. It may be: {}.", named.join("; or "))
            }
        }
    }
}

/// The first of what was seen.
fn evidence(verdict: &Verdict) -> Option<String> {
    let limit = headline(verdict)?;
    let seen = limit.evidence.first()?;
    // It may begin with a name.
    Some(format!("{seen}."))
}

/// Candidates that are named.
const MOST_CANDIDATES: usize = 2;
