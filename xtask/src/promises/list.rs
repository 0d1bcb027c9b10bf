//! promises.toml: sections of promises; and SPECIFICATION.md, which is made from it.

use std::fmt::{self, Display, Formatter, Write};

use anyhow::Result;
use serde::Deserialize;
use testbed::markdown::{Align, Table};

/// All promises.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct List {
    section: Vec<Section>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    name: String,
    promise: Vec<Promise>,
}

/// A promise.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Promise {
    /// Its name, which stays when it is worded anew.
    pub(crate) id: String,
    /// One sentence.
    pub(crate) says: String,
    /// Its tasks: words behind `cargo xtask`, or a file or folder of tests.
    pub(crate) shown_by: Vec<String>,
    /// The words of the result that counts for it, as the task prints them; empty: all count.
    #[serde(default)]
    pub(crate) result: String,
    /// `>= 1.10`
    #[serde(default)]
    pub(super) bound: String,
    /// `x iperf3`
    #[serde(default)]
    pub(super) unit: String,
    /// The name of its section.
    #[serde(skip)]
    pub(super) section: String,
}

/// Parses promises.toml.
pub(crate) fn read(text: &str) -> Result<List> {
    let mut list: List = toml::from_str(text)?;
    for Section { name, promise } in &mut list.section {
        for one in promise {
            one.section.clone_from(name);
        }
    }
    Ok(list)
}

impl List {
    /// In their order.
    pub(crate) fn promises(&self) -> impl Iterator<Item = &Promise> {
        self.section.iter().flat_map(|section| &section.promise)
    }

    /// Each promise with each of its tasks.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (&Promise, &str)> {
        self.promises().flat_map(|one| one.shown_by.iter().map(move |task| (one, task.as_str())))
    }

    /// SPECIFICATION.md.
    pub(super) fn specification(&self) -> String {
        let mut text = HEAD.to_owned();
        for Section { name, promise } in &self.section {
            let mut table = Table::new(COLUMNS.map(|name| (name, Align::Left)));
            for one in promise {
                let tasks: Vec<_> = one.shown_by.iter().map(|task| command(task)).collect();
                let id = format!("`{}`", one.id);
                table.push([id, one.says.clone(), one.limit(), tasks.join(", ")]);
            }
            _ = write!(text, "\n## {name}\n\n{table}");
        }
        text
    }
}

impl Promise {
    /// Its bound with the unit; empty if it has none.
    pub(crate) fn limit(&self) -> String {
        format!("{} {}", self.bound, self.unit).trim().to_owned()
    }

    /// Whether a result that a task prints is one of this promise.
    pub(crate) fn counts(&self, result: &str) -> bool {
        result.contains(&self.result) && result.contains(&self.limit())
    }
}

impl Display for Promise {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.section, self.id, self.says)
    }
}

/// A task as it is typed, or the path of its tests.
fn command(task: &str) -> String {
    if super::Task::new(task).path().is_some() {
        format!("`{task}`")
    } else {
        format!("`cargo xtask {task}`")
    }
}

const COLUMNS: [&str; 4] = ["name", "promise", "bound", "shown by"];
const HEAD: &str = "# What linerate promises

`cargo xtask promises --specification` writes this file from [promises.toml](promises.toml). Each
promise names the tests or the task that show it. A ratio is of two programs in the same run.

`cargo xtask promises` runs all or some of them on your machine and says which are kept, by how
much and against which version. [docs/promises.md](docs/promises.md) has the results of machines
on which they were run. [docs/misses.md](docs/misses.md) has the bounds that are not met, which are
no promises. `cargo xtask bench table` and `cargo xtask bench exchanges` compare linerate with its
peers, promised or not.
";

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "[[section]]\nname = \"Speed\"\n[[section.promise]]\nid = \"fast\"\n\
        says = \"It is fast.\"\nshown_by = [\"bench x\", \"crates/a/tests\"]\nresult = \"rate\"\n\
        bound = \">= 2\"\nunit = \"x iperf3\"\n";

    #[test]
    fn a_promise_has_tasks_and_a_figure() {
        let list = read(TEXT).expect("TOML");
        let (promise, task) = list.pairs().next().expect("a promise");
        assert_eq!((promise.section.as_str(), task), ("Speed", "bench x"));
        assert!(promise.counts("lo: rate >= 2 x iperf3: 2.10"));
        assert!(!promise.counts("lo: rate >= 3 x iperf3: 2.10") && !promise.counts("lo: CPU >= 2"));
        assert!(Promise::default().counts("anything"));
        let row =
            "| `fast` | It is fast. | >= 2 x iperf3 | `cargo xtask bench x`, `crates/a/tests` |";
        let text = list.specification();
        assert!(text.contains("## Speed\n") && text.contains(row), "{text}");
        assert!(read(&TEXT.replace("unit", "seen")).is_err());
    }

    #[test]
    fn a_promise_is_a_sentence_of_25_words_at_most() {
        let list = read(include_str!("../../../promises.toml")).expect("TOML");
        for promise in list.promises() {
            assert!(promise.says.split_whitespace().count() <= 25, "{}", promise.id);
        }
    }
}
