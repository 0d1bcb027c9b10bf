//! SPECIFICATION.md: every promise names a task that shows it, and every task is there.

use clap::Parser;

use super::{Finding, literals};
use crate::Arguments;
use crate::promises::{self, Show};
use crate::tree::Tree;

/// Promises without a task, and tasks that cannot be run.
pub(super) fn find(tree: &Tree) -> Vec<Finding> {
    let promises = promises::read(tree.document(DOCUMENT));
    if promises.is_empty() {
        return vec![Finding::of(DOCUMENT, "has no table of promises")];
    }
    let mut findings = Vec::new();
    for promise in &promises {
        let begin: String = promise.text.chars().take(BEGIN).collect();
        if promise.shown_by.is_empty() {
            let what = format!("name between backticks the task that shows \"{begin} ...\"");
            findings.push(Finding::of(DOCUMENT, what));
        }
        findings.extend(promise.shown_by.iter().flat_map(|show| judge(tree, show)));
    }
    findings
}

/// What keeps a task from being run, or its results from being found.
fn judge(tree: &Tree, show: &Show) -> Vec<Finding> {
    let span = &show.span;
    let Some(task) = promises::task(span) else {
        let what = format!("`{span}` is no task; see xtask/src/promises/kinds.rs");
        return vec![Finding::of(DOCUMENT, what)];
    };
    let files = task.files.iter().filter(|path| !has_path(tree, path));
    let files = files.map(|path| format!("`{span}`: there is no {path}"));
    let words = span.strip_prefix("cargo xtask ").map(str::split_whitespace);
    let refused =
        words.and_then(|words| Arguments::try_parse_from(["xtask"].into_iter().chain(words)).err());
    let refused = refused.map(|error| format!("`{span}`: {}", first_line(&error.to_string())));
    let choice = show.choice.iter().filter(|text| !is_told(tree, text));
    let choice = choice.map(|text| format!("`{span}`: no task tells \"{text}\""));
    files.chain(refused).chain(choice).map(|what| Finding::of(DOCUMENT, what)).collect()
}

/// Whether it is a source, or a folder of some.
fn has_path(tree: &Tree, path: &str) -> bool {
    let folder = format!("{path}/");
    tree.sources.iter().any(|one| one.path == path || one.path.starts_with(&folder))
}

/// Whether tasks have a text.
fn is_told(tree: &Tree, text: &str) -> bool {
    let tasks = tree.sources.iter().filter(|source| source.path.starts_with(TASKS));
    tasks.flat_map(|source| literals(&source.items)).any(|literal| literal.contains(text))
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or(text)
}

const DOCUMENT: &str = "SPECIFICATION.md";
const TASKS: &str = "xtask/src/";
/// How many characters of a promise are shown.
const BEGIN: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(rows: &str) -> Vec<String> {
        let text = format!("## Speed\n\n| promise | shown by |\n|---|---|\n{rows}");
        let mut tree = Tree::of_sources(&[
            ("xtask/src/bench/x.rs", "const P: &str = \"smooth: CPU <= 1.00\";"),
            ("crates/host/tests/counted.rs", ""),
        ]);
        tree.add_document(DOCUMENT, &text);
        find(&tree).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn fires_on_a_promise_without_a_task_and_on_tasks_that_cannot_be_run() {
        let rows = "| Fast | by hand, with `tc` |\n| Small | `cargo xtask nothing` |\n\
            | Whole | `cargo xtask bench --nothing` |\n| True | `crates/host/tests/no.rs` |\n\
            | Kept | `cargo xtask bench pacing` (\"burst\"), `--only x` |\n";
        let found = findings(rows);
        let parts = [
            "\"Fast ...\"",
            "`cargo xtask nothing` is no",
            "--nothing",
            "no crates/host",
            "no task tells \"burst\"",
            "`--only x` is no task",
        ];
        assert_eq!(found.len(), parts.len(), "{found:?}");
        for (finding, part) in found.iter().zip(parts) {
            assert!(finding.contains(part), "{finding}");
        }
        assert_eq!(find(&Tree::default()).len(), 1);
    }

    #[test]
    fn is_silent_on_tasks_that_are_there() {
        let rows =
            "| Fast | `cargo xtask bench pacing` (\"CPU\") |\n| True | `crates/host/tests` |\n";
        assert_eq!(findings(rows), [""; 0]);
    }
}
