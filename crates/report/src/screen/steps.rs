//! What to try next: commands as they can be typed on the host that they are for.

use measurement::remedy::Change;
use measurement::verdict::Finding;
use measurement::{Conclusion, Role, Verdict};

use super::limits::headline;
use super::{INDENT, LABEL, labelled, sentence};
use crate::columns::{Emphasis, paint};
use crate::runs::Run;

/// Advice, with the changes that follow it at all places.
struct Step<'a> {
    advice: &'a str,
    changes: Vec<&'a Change>,
}

/// At most so many remedies, and how many more there are. `command` is what was typed, and its
/// first word.
pub(super) fn lines(
    rows: &[Run<'_>],
    most: usize,
    (command, program): (&str, &str),
    width: usize,
) -> (Vec<String>, usize) {
    let steps = steps(rows);
    let shown = steps.iter().take(most).enumerate().flat_map(|(number, step)| {
        let label = if number == 0 { "TRY" } else { "" };
        let mut lines = advice(label, step.advice, program, width);
        lines.extend(step.changes.iter().take(MOST_COMMANDS).map(|one| typed(one, command)));
        lines
    });
    (shown.collect(), steps.len().saturating_sub(most))
}

fn steps<'a>(rows: &[Run<'a>]) -> Vec<Step<'a>> {
    let judged = rows.iter().filter_map(|(record, _)| record.judgement.as_ref());
    let mut steps: Vec<Step<'a>> = Vec::new();
    for verdict in judged.filter_map(|judgement| judgement.verdict.as_ref()) {
        let Some((advice, changes)) = step(verdict) else { continue };
        let at = steps.iter().position(|one| one.advice == advice).unwrap_or_else(|| {
            steps.push(Step { advice, changes: Vec::new() });
            steps.len() - 1
        });
        let changes = changes.iter().filter(|change| !steps[at].changes.contains(change));
        let changes: Vec<_> = changes.collect();
        steps[at].changes.extend(changes);
    }
    steps
}

/// What eases the limit, or what would tell it.
fn step(verdict: &Verdict) -> Option<(&str, &[Change])> {
    if let Some(Finding { remedy, .. }) = headline(verdict) {
        return Some((&remedy.sentence, &remedy.changes));
    }
    let open = verdict.would_decide.as_deref();
    open.filter(|_| verdict.conclusion == Conclusion::Undecided).map(|what| (what, &[][..]))
}

/// A sentence; a command in it has a line of its own.
fn advice(label: &str, text: &str, program: &str, width: usize) -> Vec<String> {
    let written = |label: &str, text: &str| {
        let end = if text.ends_with('?') { "" } else { "." };
        labelled(label, Emphasis::Strong, &format!("{}{end}", sentence(text)), width)
    };
    let Some((before, after)) = text.split_once(COMMAND) else { return written(label, text) };
    let (words, rest) = after.split_once(';').unwrap_or((after, ""));
    let mut lines = written(label, before.trim_end_matches([':', ' ']));
    lines.push(command_line("here", &format!("{program} test {words}")));
    if !rest.is_empty() {
        lines.extend(written("", rest.trim_start()));
    }
    lines
}

/// A command is one line: broken, it could not be copied.
fn typed(change: &Change, command: &str) -> String {
    let place = match &change.host {
        _ if change.setting.is_option() => "here".to_owned(),
        Role::Here => "here".to_owned(),
        Role::Peer => "on the server".to_owned(),
        Role::Observed(name) => format!("on {name}"),
    };
    let words = if change.setting.is_option() {
        format!("{command} {}", change.command())
    } else {
        change.command()
    };
    command_line(&place, &words)
}

fn command_line(place: &str, words: &str) -> String {
    let indent = INDENT + LABEL;
    format!("{:indent$}{place}:  {}", "", paint(words, Emphasis::Strong))
}

/// How a command of this program begins.
const COMMAND: &str = "linerate test ";
/// Commands of one remedy.
const MOST_COMMANDS: usize = 3;
