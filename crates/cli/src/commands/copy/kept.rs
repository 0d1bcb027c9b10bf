//! The routines that earlier probes chose, in a file of the user's cache. One that cannot be read or
//! written is none: a probe takes milliseconds.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use ::copy::Routine;
use measurement::copies::{ChosenBy, RoutineChoice};
use measurement::json;

use crate::output;

/// Choices by the identity of a core (`host::copies::CoreKind`).
#[derive(Debug, Default)]
pub(super) struct Kept {
    choices: BTreeMap<String, RoutineChoice>,
    is_changed: bool,
}

impl Kept {
    pub(super) fn read() -> Self {
        let text = path().and_then(|path| fs::read_to_string(path).ok());
        let choices = text.and_then(|text| json::read(&text).ok());
        Self { choices: choices.unwrap_or_default(), is_changed: false }
    }

    /// The choice for such a core, if this processor can still run it.
    pub(super) fn choice(&self, identity: &str) -> Option<RoutineChoice> {
        let known = self.choices.get(identity)?;
        known.routine.parse::<Routine>().ok()?.copier()?;
        Some(RoutineChoice { by: ChosenBy::Cache, ..known.clone() })
    }

    pub(super) fn keep(&mut self, identity: &str, choice: &RoutineChoice) {
        self.choices.insert(identity.to_owned(), choice.clone());
        self.is_changed = true;
    }

    pub(super) fn write(&self) {
        let Some(path) = path().filter(|_| self.is_changed) else { return };
        if path.parent().is_some_and(|folder| fs::create_dir_all(folder).is_ok()) {
            _ = output::write_whole(&path, |out| json::write_indented(&self.choices, out));
        }
    }
}

/// In the user's folder for caches (XDG Base Directory Specification).
fn path() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let caches = folder("XDG_CACHE_HOME").filter(|path| path.is_absolute());
    let caches = caches.or_else(|| Some(folder("HOME")?.join(".cache")));
    Some(caches?.join("linerate/copy.json"))
}
