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

/// What limits some of the rows.
pub(super) struct Block {
    pub lines: Vec<String>,
    rank: Rank,
}

/// What is told rather where not all is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Limited,
    Undecided,
    Delivered,
}

/// With the first of what shows a limit, if that is all rows'.
pub(super) fn blocks(rows: &[Run<'_>], with_evidence: bool, width: usize) -> Vec<Block> {
    let groups = groups(rows);
    if let [group] = &groups[..] {
        let mut lines = labelled("LIMIT", Emphasis::Strong, &sentence(&ended(group)), width);
        if let Some(seen) = evidence(group.verdict).filter(|_| with_evidence) {
            lines.extend(labelled("", Emphasis::None, &seen, width));
        }
        return vec![Block { lines, rank: rank(group) }];
    }
    let alike = groups.chunk_by(are_told_together);
    let blocks = alike.enumerate().filter_map(|(number, groups)| {
        let label = if number == 0 { "LIMIT" } else { "" };
        let named = |group: &Group<'_>, text: &str| format!("{}: {text}", names(&group.rows, rows));
        let (last, before) = groups.split_last()?;
        // What one rule says of several hosts has its name once.
        let name = |group: &Group<'_>| rule(group).filter(|own| rule(last) != Some(*own));
        let name = |group| name(group).map(|rule| format!(" [{rule}]")).unwrap_or_default();
        let before = before.iter().map(|one| named(one, &text(one)) + &name(one) + "; ");
        let text = before.collect::<String>() + &named(last, &ended(last));
        let lines = labelled(label, Emphasis::Strong, &text, width);
        Some(Block { lines, rank: rank(last) })
    });
    blocks.collect()
}

/// At most so many of the blocks, and how many are left out.
pub(super) fn most(mut blocks: Vec<Block>, most: usize) -> (Vec<String>, usize) {
    let fewer = blocks.len().saturating_sub(most);
    for _ in 0..fewer {
        // Of those that tell least the last; the first has the label.
        let told = blocks.iter().enumerate().skip(1);
        let Some((last, _)) = told.max_by_key(|(number, block)| (block.rank, *number)) else {
            break;
        };
        blocks.remove(last);
    }
    (blocks.into_iter().flat_map(|block| block.lines).collect(), fewer)
}

/// One rule, or what has one remedy.
fn are_told_together(one: &Group<'_>, next: &Group<'_>) -> bool {
    let limits = headline(one.verdict).zip(headline(next.verdict));
    limits.is_some_and(|(one, next)| one.rule == next.rule || one.remedy == next.remedy)
}

fn rule(group: &Group<'_>) -> Option<RuleId> {
    headline(group.verdict).map(|limit| limit.rule)
}

const fn rank(group: &Group<'_>) -> Rank {
    match group.verdict.conclusion {
        Conclusion::Limited => Rank::Limited,
        Conclusion::Undecided => Rank::Undecided,
        Conclusion::Delivered => Rank::Delivered,
    }
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

/// Whether the verdicts of two rows are one on the screen: the same limit at the same place. Two
/// rates of the path are two places.
fn is_alike(one: &Verdict, other: &Verdict) -> bool {
    let rates = path_rate(one).zip(path_rate(other));
    if rates.is_some_and(|(one, other)| one.max(other) > ONE_RATE * one.min(other)) {
        return false;
    }
    let limit = |verdict: &Verdict| headline(verdict).map(|limit| (limit.rule, limit.host.clone()));
    let candidates =
        |verdict: &Verdict| candidates(verdict).map(|one| one.rule).collect::<Vec<_>>();
    one.conclusion == other.conclusion
        && limit(one) == limit(other)
        && (one.conclusion != Conclusion::Undecided || candidates(one) == candidates(other))
}

/// The payload that the path lets through, in bit/s, where it is what limits.
fn path_rate(verdict: &Verdict) -> Option<f64> {
    let limit = headline(verdict).filter(|limit| limit.host.is_none())?;
    limit.effect.bound().map(|bound| bound.to.bits_per_second() as f64)
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
    let rule = rule(group).map(|rule| format!(" [{rule}]"));
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

/// The greater of two rates against the less: datagrams carry a little more than segments.
const ONE_RATE: f64 = 1.25;
/// Candidates that are named.
const MOST_CANDIDATES: usize = 2;
