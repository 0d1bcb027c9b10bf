//! `fuzz`: searches, led by coverage, for input that breaks what a peer can reach.
//!
//! The targets stand in `fuzz/`; CONTRIBUTING.md says how to add one. What a run finds stays
//! in the target folder and is where the next run begins; what the project keeps of it stands
//! in `fuzz/corpus`.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::output::say;
use crate::workspace::Workspace;

mod build;
mod folders;
mod outcome;
mod target;

use folders::Folders;
use outcome::Outcome;
use target::Target;

/// Fuzzes every decoder that a peer can reach
#[derive(Debug, Args)]
pub(crate) struct Fuzz {
    /// How long each target runs, e.g. 90s, 10m or 1h
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = span)]
    time: Duration,
    /// A target to run in place of all; more than once for several
    #[arg(long = "target", value_name = "NAME")]
    targets: Vec<String>,
    /// Runs one input alone and shows what comes of it
    #[arg(long, value_name = "FILE", requires = "targets")]
    replay: Option<PathBuf>,
    /// Does not run: adds to the corpus what earlier runs found beyond it
    #[arg(long, conflicts_with_all = ["time", "replay"])]
    distil: bool,
}

impl Fuzz {
    pub(crate) fn run(self) -> Result<String> {
        let workspace = Workspace::find()?;
        let targets = prepare(&workspace, &self.targets)?;
        if let Some(input) = &self.replay {
            targets.iter().try_for_each(|target| target.replay(input))?;
            return Ok("fuzz: the input does no harm".to_owned());
        }
        if self.distil {
            targets.iter().try_for_each(distil)?;
            return Ok("fuzz: the corpus has all that was found".to_owned());
        }
        search(&targets, self.time)?;
        Ok(format!("fuzz: nothing found by {} targets", targets.len()))
    }
}

/// Every target, for so long.
pub(crate) fn all(workspace: &Workspace, time: Duration) -> Result<()> {
    search(&prepare(workspace, &[])?, time)
}

/// Builds the targets: those that are named, or all.
fn prepare(workspace: &Workspace, wanted: &[String]) -> Result<Vec<Target>> {
    let folders = Folders::of(workspace);
    let known = names(&folders.sources())?;
    for name in wanted {
        ensure!(known.contains(name), "no fuzz target {name}; there are {}", known.join(", "));
    }
    let program = build::build(&folders)?;
    let chosen = known.iter().filter(|name| wanted.is_empty() || wanted.contains(name));
    Ok(chosen.map(|name| Target::new(name, &program, &folders)).collect())
}

/// The files of a folder of targets, without their ends.
fn names(sources: &Path) -> Result<Vec<String>> {
    let entries = || fs::read_dir(sources)?.collect::<Result<Vec<_>, _>>();
    let entries = entries().with_context(|| format!("cannot read {}", sources.display()))?;
    let paths = entries.iter().map(fs::DirEntry::path);
    let stems = paths.filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned()));
    let mut names: Vec<_> = stems.collect();
    names.sort();
    Ok(names)
}

/// Runs targets, as many at a time as there are CPUs, and tells what each did.
fn search(targets: &[Target], time: Duration) -> Result<()> {
    let at_once = thread::available_parallelism().map_or(1, usize::from);
    say(format!("each target for {} s, {at_once} at a time", time.as_secs()));
    say(Outcome::HEAD);
    let mut found = Vec::new();
    for some in targets.chunks(at_once) {
        let running = some.iter().map(|target| target.start(time)).collect::<Result<Vec<_>>>()?;
        for running in running {
            let outcome = running.wait()?;
            say(&outcome);
            found.extend(outcome.complaint());
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    bail!("fuzz: {} of {} targets failed\n\n{}", found.len(), targets.len(), found.join("\n\n"))
}

fn distil(target: &Target) -> Result<()> {
    let added = target.distil()?;
    say(format!("{}: {added} inputs added to the corpus", target.name));
    Ok(())
}

/// A number of seconds, minutes or hours with the letter of its unit; without one: seconds.
fn span(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(char::is_alphabetic);
    let factor = match &text[digits.len()..] {
        "" | "s" => Some(1),
        "m" => Some(60),
        "h" => Some(3600),
        _ => None,
    };
    let seconds = factor.and_then(|factor| digits.parse::<u32>().ok()?.checked_mul(factor));
    let seconds = seconds.filter(|seconds| *seconds > 0);
    let span = seconds.map(|seconds| Duration::from_secs(seconds.into()));
    span.ok_or_else(|| "write 90s, 10m or 1h".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit() {
        for (text, seconds) in [("90", 90), ("90s", 90), ("10m", 600), ("1h", 3600)] {
            assert_eq!(span(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "s", "0", "-1", "1.5m", "1d", "9999999h"] {
            assert!(span(text).is_err(), "{text}");
        }
    }

    #[test]
    fn every_target_has_a_corpus() {
        let workspace = Workspace::find().expect("a workspace");
        let folders = Folders::of(&workspace);
        let names = names(&folders.sources()).expect("readable");
        assert!(!names.is_empty());
        for name in names {
            assert!(folders.corpus(&name).is_dir(), "{name}");
        }
    }

    #[test]
    fn every_input_has_a_name_that_says_what_it_is() {
        let folders = Folders::of(&Workspace::find().expect("a workspace"));
        for target in names(&folders.sources()).expect("readable") {
            for input in names(&folders.corpus(&target)).expect("readable") {
                let is_hash = input.len() == 40 && input.chars().all(|c| c.is_ascii_hexdigit());
                assert!(!is_hash, "name it, or leave it out: {target}/{input}");
            }
        }
    }
}
