//! Why a row is not VALID, and how much more there is to know.

use std::cmp::Reverse;

use measurement::units::group_thousands;
use measurement::{Order, Reason, RuleId, Stamp};

use super::{Rest, labelled, limits, sentence, table};
use crate::notes;
use crate::page::wrap;
use crate::runs::Run;

/// Doubts by one rule, with the rows that they hold for.
struct Doubt<'a> {
    reason: &'a Reason,
    rows: Vec<&'a Run<'a>>,
    /// Texts with other numbers, or of other hosts.
    more: usize,
}

/// The gravest first, at most so many.
pub(super) fn lines(rows: &[Run<'_>], most: usize, width: usize) -> Vec<String> {
    let all = doubts(rows);
    let shown = all.iter().take(most).flat_map(|doubt| {
        let stamp = doubt.reason.stamp;
        // What to do about it is one of the details.
        let what = doubt.reason.text.split(';').next().unwrap_or_default();
        let text = if doubt.rows.len() == rows.len() {
            sentence(what)
        } else {
            format!("{}: {what}", limits::names(&doubt.rows, rows))
        };
        labelled(&stamp.to_string(), table::emphasis(stamp), &format!("{text}."), width)
    });
    shown.collect()
}

/// What the limits say already is not said again.
fn doubts<'a>(rows: &'a [Run<'a>]) -> Vec<Doubt<'a>> {
    let told = |rule: RuleId| limits::rules(rows).contains(&rule);
    let mut all: Vec<Doubt<'a>> = Vec::new();
    for row in rows {
        let reasons = row.0.judgement.iter().flat_map(|judged| &judged.reasons);
        for reason in reasons.filter(|one| one.stamp != Stamp::Valid && !told(one.rule)) {
            let alike = |one: &&mut Doubt<'_>| {
                (one.reason.stamp, one.reason.rule) == (reason.stamp, reason.rule)
            };
            match all.iter_mut().find(alike) {
                Some(one) => {
                    one.more += usize::from(one.reason.text != reason.text);
                    if !one.rows.iter().any(|other| std::ptr::eq(*other, row)) {
                        one.rows.push(row);
                    }
                }
                None => all.push(Doubt { reason, rows: vec![row], more: 0 }),
            }
        }
    }
    // That a run did not end as planned explains the others.
    let is_whole = |one: &Doubt<'_>| one.reason.rule != RuleId::TestIncomplete;
    all.order_by_key(|one| (Reverse(one.reason.stamp), is_whole(one)));
    all
}

/// What the screen leaves out, as a count, and where it is; `most` doubts are on it.
pub(super) fn footer(
    rows: &[Run<'_>],
    most: usize,
    left_out: [(usize, &str); 2],
    (rest, program): (Rest, &str),
    width: usize,
) -> Vec<String> {
    let doubts = doubts(rows);
    let more: usize = doubts.iter().map(|one| one.more).sum();
    let hidden = more + doubts.len().saturating_sub(most);
    let (remarks, unchecked) = notes::counts(rows);
    let parts = [(hidden, "more doubt"), (remarks, "note")];
    let counted = left_out.iter().chain(&parts).filter(|(count, _)| *count > 0);
    let counted = counted.map(|(count, of)| plural(*count, of));
    let unchecked = (unchecked > 0).then(|| format!("{unchecked} not checked"));
    let counted: Vec<_> = counted.chain(unchecked).collect();
    let place = match rest {
        Rest::Follows => return Vec::new(),
        Rest::Kept => format!("{program} explain last -v"),
        Rest::Verbose => "-v".to_owned(),
    };
    let counted = if counted.is_empty() { "details".to_owned() } else { counted.join(", ") };
    let mut lines = wrap(&format!("{counted}:"), width);
    // Broken, a command could not be copied.
    match lines.last_mut() {
        Some(last) if last.len() + 1 + place.len() <= width => *last = format!("{last} {place}"),
        _ => lines.push(place),
    }
    lines
}

/// `2 more remedies`.
fn plural(count: usize, of: &str) -> String {
    let number = group_thousands(count as u64);
    match of.strip_suffix('y') {
        _ if count == 1 => format!("{number} {of}"),
        Some(stem) => format!("{number} {stem}ies"),
        None => format!("{number} {of}s"),
    }
}
