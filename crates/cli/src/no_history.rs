//! A linerate that was built without its history, as for small boards.

use anyhow::bail;
use measurement::RecordSet;

use crate::flags::{StoreFile, StoreFlags};

/// Keeps nothing.
pub(crate) const fn keep(_flags: &StoreFlags, _command: &str, _records: &RecordSet) -> bool {
    false
}

/// Has no runs.
pub(crate) fn records(_file: &StoreFile, word: &str) -> anyhow::Result<RecordSet> {
    bail!("there is no file {word}, and this linerate was built without a history: use -o FILE")
}
