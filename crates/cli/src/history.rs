//! The history of runs: where its file is, and what is kept in it and taken from it.

use std::borrow::Borrow;
use std::env;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use measurement::RecordSet;
use store::{About, Filter, Keep, RunId, Store, Tag};

/// How a run is kept.
#[derive(Clone, Debug)]
pub(crate) struct Keeping {
    /// The file; none: the usual one.
    pub(crate) file: Option<PathBuf>,
    /// Which runs stay; none: all.
    pub(crate) keep: Option<Keep>,
    /// The command that made it.
    pub(crate) command: &'static str,
}

/// Keeps a run; whether that succeeded. A history that cannot be written is no error of a test: one
/// line on standard error says why.
pub(crate) fn keep(keeping: &Keeping, records: &RecordSet) -> bool {
    if records.records.is_empty() {
        return false;
    }
    let kept = save(keeping, std::iter::once(records));
    if let Err(error) = &kept {
        // Standard error may be closed; the test is what was asked for.
        _ = writeln!(
            anstream::stderr(),
            "linerate: the run is not in the history: {error:#}; --no-store says nothing"
        );
    }
    kept.is_ok()
}

/// Keeps runs, in their order.
pub(crate) fn save<S: Borrow<RecordSet>>(
    keeping: &Keeping,
    runs: impl Iterator<Item = S>,
) -> anyhow::Result<()> {
    let now_millis = linux::clock::realtime_millis();
    let mut store = Store::open(&path(keeping.file.as_deref())?)?;
    for run in runs {
        store.keep(run.borrow(), About { command: keeping.command, now_millis })?;
    }
    if let Some(keep) = keeping.keep {
        store.prune(keep, now_millis)?;
    }
    Ok(())
}

/// How runs of a command are kept that has no options for it: in the file that `LINERATE_STORE` names;
/// none: it names none.
pub(crate) fn of_environment(command: &'static str) -> Option<Keeping> {
    let file = set("LINERATE_STORE").map(PathBuf::from);
    file.map(|file| Keeping { file: Some(file), keep: None, command })
}

/// A variable of the environment that is not empty.
fn set(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// Opens the history to change it.
pub(crate) fn open(file: Option<&Path>) -> anyhow::Result<Store> {
    Ok(Store::open(&path(file)?)?)
}

/// Opens the history to read it.
pub(crate) fn read(file: Option<&Path>) -> anyhow::Result<Store> {
    let path = path(file)?;
    let store = Store::open_to_read(&path)?;
    store.ok_or_else(|| match file {
        Some(file) => anyhow!("there is no history in {}: check --store", file.display()),
        None => anyhow!("no test was run yet by this user: linerate test HOST"),
    })
}

/// The records that a word stands for, and its runs: `last`, `last~2`, a number, or a tag, which
/// several runs may have.
pub(crate) fn records(file: Option<&Path>, word: &str) -> anyhow::Result<RecordSet> {
    let store = read(file)?;
    let sets = find(&store, word)?.into_iter().map(|id| {
        let text = store.records(id)?;
        report::import::record::read(&text).with_context(|| format!("run {id}"))
    });
    join(sets)
}

/// The records of several runs in one set.
pub(crate) fn join(
    sets: impl Iterator<Item = anyhow::Result<RecordSet>>,
) -> anyhow::Result<RecordSet> {
    let mut sets = sets.collect::<anyhow::Result<Vec<_>>>()?;
    if sets.len() == 1 {
        return Ok(sets.remove(0));
    }
    // Summaries and errors are of one run each.
    Ok(RecordSet::new(sets.into_iter().flat_map(|set| set.records).collect()))
}

/// The runs that a word stands for, the earliest first.
pub(crate) fn find(store: &Store, word: &str) -> anyhow::Result<Vec<RunId>> {
    let nothing = || anyhow!("there is no run or tag '{word}' in the history: linerate history");
    if let Some(back) = back(word) {
        return Ok(vec![store.last(back)?.ok_or_else(nothing)?]);
    }
    if let Ok(number) = word.parse() {
        return Ok(vec![RunId::from_number(number)]);
    }
    let tag = Tag::read(word).map_err(|_| nothing())?;
    let runs = store.runs(&Filter { tag: Some(tag), ..Filter::default() })?;
    let ids: Vec<_> = runs.iter().rev().map(|run| RunId::from_number(run.id)).collect();
    if ids.is_empty() { Err(nothing()) } else { Ok(ids) }
}

/// The runs that a word stands for, as a user knows them: command and time.
pub(crate) fn names(file: Option<&Path>, word: &str) -> anyhow::Result<Vec<String>> {
    let store = read(file)?;
    let ids = find(&store, word)?;
    let runs = store.runs(&Filter::default())?;
    let found = runs.iter().filter(|run| ids.contains(&RunId::from_number(run.id)));
    Ok(found.map(report::history::named).collect())
}

/// Whether a word names a run by itself: `last`, `last~1` or a number.
pub(crate) fn is_run(word: &str) -> bool {
    back(word).is_some() || word.parse::<u64>().is_ok()
}

/// How many runs before the last one; none: the word is something else.
fn back(word: &str) -> Option<u32> {
    match word.strip_prefix("last")? {
        "" => Some(0),
        rest => rest.strip_prefix('~')?.parse().ok(),
    }
}

/// As typed, else in the user's folder for states (XDG Base Directory Specification).
fn path(file: Option<&Path>) -> anyhow::Result<PathBuf> {
    if let Some(path) = file {
        return Ok(path.to_owned());
    }
    let folder = |name: &str| set(name).map(PathBuf::from);
    let states = folder("XDG_STATE_HOME").filter(|path| path.is_absolute());
    let states = states.or_else(|| folder("HOME").map(|home| home.join(".local/state")));
    let states = states.ok_or_else(|| anyhow!("HOME is not set: choose a file with --store"))?;
    Ok(states.join("linerate/history.db"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_counted_back_from_the_last() {
        assert_eq!(["last", "last~0", "last~12"].map(back), [Some(0), Some(0), Some(12)]);
        assert_eq!(["latest", "last~", "last~x", "last-1", "5"].map(back), [None; 5]);
    }
}
