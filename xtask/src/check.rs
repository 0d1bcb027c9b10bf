//! `check`: the invariants that a machine can hold.
//!
//! Formatting, documentation and generated files are cargo's and ours to rebuild. Clippy holds
//! what is said of single lines: clocks, I/O, `unsafe`, silenced lints, the length of functions
//! (`clippy.toml`, at the root and in crates). What ARCHITECTURE.md says beyond that is a rule in
//! a file of its own, with a line in [`RULES`].

use std::process::Command;

use anyhow::{Result, bail};
use clap::Args;

use crate::output::say;
use crate::tree::Tree;
use crate::workspace::Workspace;
use crate::{command, rules, schema};

mod circles;
mod dependencies;
mod length;
mod map;
mod names;
mod opening;
mod promises;
mod quick_start;
mod sentences;
mod supply;
mod unsafe_code;
mod width;
mod words;

pub(crate) use names::literals;

/// Checks formatting, lints, documentation, generated files and the project's own rules
#[derive(Debug, Args)]
pub(crate) struct Check {}

impl Check {
    #[expect(clippy::unused_self, reason = "each task is run by its value")]
    pub(crate) fn run(self) -> Result<String> {
        take(&Workspace::find()?, &STEPS)?;
        Ok(format!("check: passed ({} steps, {} rules)", STEPS.len(), RULES.len()))
    }
}

/// What needs no compilation: the gate has lints and documentation from that of its tests.
pub(crate) fn quick(workspace: &Workspace) -> Result<()> {
    take(workspace, &STEPS[..QUICK])
}

/// Takes every step, so that one run shows all that is wrong.
fn take(workspace: &Workspace, steps: &[Step]) -> Result<()> {
    let mut failed = Vec::new();
    for step in steps {
        say(format!("-- {}", step.name));
        if let Err(error) = (step.run)(workspace) {
            say(format!("{error:#}"));
            failed.push(step.name);
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    bail!("check: {} of {} steps failed: {}", failed.len(), steps.len(), failed.join(", "))
}

struct Step {
    name: &'static str,
    run: fn(&Workspace) -> Result<()>,
}

const STEPS: [Step; 5] = [
    Step { name: "rules", run: own_rules },
    Step { name: "generated files", run: generated_files },
    Step { name: "formatting", run: formatting },
    Step { name: "lints", run: lints },
    Step { name: "documentation", run: documentation },
];

/// The first of them, which need no compilation.
const QUICK: usize = 3;

fn generated_files(workspace: &Workspace) -> Result<()> {
    schema::check(&workspace.root)?;
    rules::check(&workspace.root)?;
    crate::promises::check(&workspace.root)
}

/// An invariant that is seen in the text of the project.
struct Rule {
    name: &'static str,
    find: fn(&Tree) -> Vec<Finding>,
}

/// Where an invariant is broken.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    /// A file or a crate.
    place: String,
    /// What is wrong and what to do.
    what: String,
}

impl Finding {
    fn of(place: &str, what: impl Into<String>) -> Self {
        Self { place: place.to_owned(), what: what.into() }
    }
}

const RULES: [Rule; 13] = [
    Rule { name: "circles", find: circles::find },
    Rule { name: "dependencies", find: dependencies::find },
    Rule { name: "length", find: length::find },
    Rule { name: "map", find: map::find },
    Rule { name: "names", find: names::find },
    Rule { name: "opening", find: opening::find },
    Rule { name: "promises", find: promises::find },
    Rule { name: "quick-start", find: quick_start::find },
    Rule { name: "sentences", find: sentences::find },
    Rule { name: "supply", find: supply::find },
    Rule { name: "unsafe-code", find: unsafe_code::find },
    Rule { name: "width", find: width::find },
    Rule { name: "words", find: words::find },
];

fn own_rules(workspace: &Workspace) -> Result<()> {
    let tree = Tree::read(workspace)?;
    let mut count = 0;
    for rule in &RULES {
        for finding in (rule.find)(&tree) {
            count += 1;
            say(format!("{}: {} [{}]", finding.place, finding.what, rule.name));
        }
    }
    if count > 0 {
        bail!("{count} findings in {} files", tree.sources.len());
    }
    say(format!("{} rules, {} files", RULES.len(), tree.sources.len()));
    Ok(())
}

fn formatting(workspace: &Workspace) -> Result<()> {
    run(workspace, &mut command::cargo(["fmt", "--all", "--check"]))
}

fn lints(workspace: &Workspace) -> Result<()> {
    let words = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    run(workspace, &mut command::cargo(words))
}

fn documentation(workspace: &Workspace) -> Result<()> {
    let mut doc = command::cargo(["doc", "--workspace", "--no-deps"]);
    run(workspace, doc.env("RUSTDOCFLAGS", "-D warnings"))
}

fn run(workspace: &Workspace, command: &mut Command) -> Result<()> {
    command::run(command.current_dir(&workspace.root))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_in_the_order_of_their_names() {
        let names = RULES.map(|rule| rule.name);
        assert!(names.is_sorted(), "{names:?}");
    }
}
