//! promises.toml: every promise is one short sentence, and every task that shows it is there.

use std::collections::BTreeSet;

use clap::Parser;

use super::{Finding, literals, sentences};
use crate::Arguments;
use crate::promises::{self, Promise, Task};
use crate::tree::{Source, Tree};

/// Promises that are too long or have no task, and tasks that cannot be run.
pub(super) fn find(tree: &Tree) -> Vec<Finding> {
    let list = match promises::read(tree.document(DOCUMENT)) {
        Ok(list) => list,
        Err(error) => return vec![Finding::of(DOCUMENT, format!("{error:#}"))],
    };
    let mut ids = BTreeSet::new();
    let wrong = list.promises().flat_map(|promise| {
        let is_new = ids.insert(&promise.id);
        let wrong = (!is_new).then(|| "the name is taken".to_owned()).into_iter();
        let wrong = wrong.chain(judge(tree, promise));
        wrong.map(|what| Finding::of(DOCUMENT, format!("{}: {what}", promise.id)))
    });
    wrong.collect()
}

/// What is wrong with a promise.
fn judge(tree: &Tree, promise: &Promise) -> Vec<String> {
    let mut wrong = Vec::new();
    if !is_slug(&promise.id) {
        wrong.push("a name has small letters, digits and hyphens".to_owned());
    }
    let words = sentences::words(&promise.says);
    if words > MOST_WORDS || promise.says.trim_end_matches('.').contains(". ") {
        wrong.push(format!("{words} words; one sentence of {MOST_WORDS} at most"));
    }
    if promise.shown_by.is_empty() {
        wrong.push("name the task that shows it".to_owned());
    }
    wrong.extend(promise.shown_by.iter().filter_map(|task| refusal(tree, task)));
    if !is_told(tree, promise) {
        wrong.push(format!("no task prints \"{} {}\"", promise.result, promise.limit()));
    }
    wrong
}

fn is_slug(id: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    id.split('-').all(is_part)
}

/// Why a task cannot be run.
fn refusal(tree: &Tree, task: &str) -> Option<String> {
    if let Some(path) = Task::new(task).path() {
        return (!has_path(tree, path)).then(|| format!("there is no {path}"));
    }
    let words: Vec<_> = task.split_whitespace().collect();
    let targets = words.windows(2).filter(|pair| pair[0] == "--target" && words[0] == "fuzz");
    let mut files = targets.map(|pair| format!("fuzz/src/targets/{}.rs", pair[1]));
    let error = Arguments::try_parse_from(["xtask"].iter().chain(&words)).err();
    let refused =
        error.map(|error| error.to_string().lines().next().unwrap_or_default().to_owned());
    refused
        .or_else(|| {
            files.find(|path| !has_path(tree, path)).map(|path| format!("there is no {path}"))
        })
        .map(|why| format!("`{task}`: {why}"))
}

/// Whether it is a source, or a folder of some.
fn has_path(tree: &Tree, path: &str) -> bool {
    let folder = format!("{path}/");
    tree.sources.iter().any(|one| one.path == path || one.path.starts_with(&folder))
}

/// Whether a file of tasks has the result of a promise and its limit, or `bench mars` such a row.
fn is_told(tree: &Tree, promise: &Promise) -> bool {
    let limit = promise.limit();
    let is_in = |source: &Source| {
        let has = |part: &str| literals(&source.items).iter().any(|text| text.contains(part));
        has(&promise.result) && (source.path.starts_with(ROWS) || has(&limit))
    };
    let places = [TASKS, ROWS];
    let is_task = |source: &&Source| places.iter().any(|place| source.path.starts_with(place));
    limit.is_empty() || tree.sources.iter().filter(is_task).any(is_in)
}

const DOCUMENT: &str = "promises.toml";
const TASKS: &str = "xtask/src/";
/// Their limits are numbers, and no texts.
const ROWS: &str = "runtime/comparison/src/";
const MOST_WORDS: usize = 25;

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(promises: &[(&str, &str, &str)]) -> Vec<String> {
        let promise = |(id, says, more): &(&str, &str, &str)| {
            format!("[[section.promise]]\nid = \"{id}\"\nsays = \"{says}\"\n{more}\n")
        };
        let promises: String = promises.iter().map(promise).collect();
        let mut tree = Tree::of_sources(&[
            ("xtask/src/bench/x.rs", "const P: &str = \"smooth: CPU <= 1.00 x iperf3\";"),
            ("crates/host/tests/counted.rs", ""),
        ]);
        tree.add_document(DOCUMENT, &format!("[[section]]\nname = \"Speed\"\n{promises}"));
        find(&tree).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn fires_on_long_promises_and_on_tasks_that_cannot_be_run() {
        let long = "word ".repeat(MOST_WORDS + 1);
        let found = findings(&[
            ("a", &long, "shown_by = [\"static\"]"),
            ("a", "Short.", "shown_by = []"),
            ("B", "Two. Three.", "shown_by = [\"nothing\", \"bench --nothing\"]"),
            ("c", "Short.", "shown_by = [\"crates/host/tests/no.rs\", \"fuzz --target no\"]"),
            ("d", "Short.", "shown_by = [\"bench\"]\nresult = \"CPU\"\nbound = \"<= 2\""),
        ]);
        let parts = [
            "a: 26 words",
            "a: the name is taken",
            "a: name the task",
            "B: a name has",
            "B: 2 words; one sentence",
            "B: `nothing`: error",
            "B: `bench --nothing`: error",
            "c: there is no crates/host/tests/no.rs",
            "c: `fuzz --target no`: there is no fuzz/",
            "d: no task prints \"CPU <= 2\"",
        ];
        assert_eq!(found.len(), parts.len(), "{found:?}");
        for (finding, part) in found.iter().zip(parts) {
            assert!(finding.starts_with(part), "{finding}");
        }
        assert_eq!(find(&Tree::default()).len(), 1);
    }

    #[test]
    fn is_silent_at_the_limit_and_on_tasks_that_are_there() {
        let just = "word ".repeat(MOST_WORDS);
        let figure = "shown_by = [\"bench pacing\", \"crates/host/tests\"]\nresult = \"CPU\"\n\
            bound = \"<= 1.00\"\nunit = \"x iperf3\"";
        assert_eq!(findings(&[("a-1", just.trim(), figure)]), [""; 0]);
    }
}
