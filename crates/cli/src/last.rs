//! The last run, kept for `linerate explain last`.

use std::env;
use std::fs;
use std::path::PathBuf;

use measurement::RecordSet;
use report::export::{Export, JsonCompact};

use crate::output;

/// Keeps a run; whether that succeeded. Nothing depends on it, so that a folder that cannot be
/// written is no error.
pub(crate) fn keep(records: &RecordSet) -> bool {
    let Some(path) = path().filter(|_| !records.records.is_empty()) else { return false };
    let folder = path.parent().is_some_and(|folder| fs::create_dir_all(folder).is_ok());
    folder && output::write_whole(&path, |out| JsonCompact.write(records, out)).is_ok()
}

/// The file: in the user's folder for states (XDG Base Directory Specification).
pub(crate) fn path() -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let states = set("XDG_STATE_HOME").filter(|path| path.is_absolute());
    let states = states.or_else(|| set("HOME").map(|home| home.join(".local/state")));
    Some(states?.join("linerate/last.json"))
}
