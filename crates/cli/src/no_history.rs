//! A linerate that was built without its history, as for small boards.

use std::path::Path;

use anyhow::bail;
use measurement::RecordSet;

/// How a run is kept: not at all.
#[derive(Debug)]
pub(crate) enum Keeping {}

/// Keeps nothing.
pub(crate) const fn keep(keeping: &Keeping, _records: &RecordSet) -> bool {
    match *keeping {}
}

/// Keeps nothing.
pub(crate) fn save<S>(keeping: &Keeping, _runs: impl Iterator<Item = S>) -> anyhow::Result<()> {
    match *keeping {}
}

/// No run is kept.
pub(crate) const fn of_environment(_command: &'static str) -> Option<Keeping> {
    None
}

/// Has no runs.
pub(crate) fn records(_file: Option<&Path>, word: &str) -> anyhow::Result<RecordSet> {
    bail!("there is no file {word}, and this linerate was built without a history: use -o FILE")
}

/// Has no runs.
pub(crate) fn names(file: Option<&Path>, word: &str) -> anyhow::Result<Vec<String>> {
    records(file, word).map(|_| Vec::new())
}

/// Whether a word would name a run.
pub(crate) fn is_run(word: &str) -> bool {
    word.starts_with("last")
}
