//! What limits: one block for rows that agree.

use measurement::verdict::Finding;
use measurement::{Certainty, Conclusion, RuleId, TestPlan, Verdict};

use super::{labelled, sentence, table};
use crate::columns::Emphasis;
use crate::runs::Run;

/// Rows with one verdict.
struct Group<'a> {
    rows: Vec<&'a Run<'a>>,
    verdict: &'a Verdict,
}

pub(super) fn lines(rows: &[Run<'_>], width: usize) -> Vec<String> {
    let groups = groups(rows);
    if let [group] = &groups[..] {
        let mut lines = labelled("LIMIT", Emphasis::Strong, &sentence(&ended(group)), width);
        if let Some(seen) = evidence(group.verdict) {
            lines.extend(labelled("", Emphasis::None, &seen, width));
        }
        return lines;
    }
    let rule = |group: &Group<'_>| headline(group.verdict).map(|limit| limit.rule);
    let alike = groups.chunk_by(|one, next| rule(one).is_some() && rule(one) == rule(next));
    let blocks = alike.enumerate().filter_map(|(number, groups)| {
        let label = if number == 0 { "LIMIT" } else { "" };
        let named = |group: &Group<'_>, text: &str| format!("{}: {text}", names(&group.rows, rows));
        // What one rule says of several hosts has its name once.
        let (last, before) = groups.split_last()?;
        let before = before.iter().map(|group| named(group, &text(group)) + "; ");
        let text = before.collect::<String>() + &named(last, &ended(last));
        Some(labelled(label, Emphasis::Strong, &text, width))
    });
    blocks.flatten().collect()
}

fn groups<'a>(rows: &'a [Run<'a>]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for row in rows {
        let verdict = row.0.judgement.as_ref().and_then(|judged| judged.verdict.as_ref());
        let Some(verdict) = verdict else { continue };
        match groups.iter_mut().find(|group| is_alike(group.verdict, verdict)) {
            Some(group) => group.rows.push(row),
            None => groups.push(Group { rows: vec![row], verdict }),
        }
    }
    groups
}

/// The names of rows; `send` or `TCP` for several that are all of these.
pub(super) fn names(some: &[&Run<'_>], all: &[Run<'_>]) -> String {
    let alike = |of: fn(&TestPlan) -> String| {
        let first = of(&some.first()?.0.plan);
        let count = all.iter().filter(|(record, _)| of(&record.plan) == first).count();
        let is_all = some.iter().all(|(record, _)| of(&record.plan) == first);
        (is_all && count == some.len() && count > 1).then_some(first)
    };
    let way = alike(|plan| plan.direction.to_string());
    let name = way.or_else(|| alike(|plan| plan.transport.to_string()));
    name.unwrap_or_else(|| {
        let name = |(record, run): &&Run<'_>| table::row_name(&record.plan) + run;
        some.iter().map(name).collect::<Vec<_>>().join(", ")
    })
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

/// A sentence with the name of its rule.
fn ended(group: &Group<'_>) -> String {
    let rule = headline(group.verdict).map(|limit| format!(" [{}]", limit.rule));
    format!("{}.{}", text(group), rule.unwrap_or_default())
}

fn text(group: &Group<'_>) -> String {
    match headline(group.verdict) {
        // The label says it.
        Some(limit) => limit.text.strip_prefix("limited by ").unwrap_or(&limit.text).to_owned(),
        None if group.verdict.conclusion == Conclusion::Delivered => {
            format!("none: {}", group.verdict.sentence)
        }
        None => {
            let named: Vec<_> = candidates(group.verdict)
                .map(|one| format!("{} [{}]", one.text, one.rule))
                .collect();
            if named.is_empty() {
                "not found".to_owned()
            } else {
                format!("not decided; perhaps {}", named.join(", or "))
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
