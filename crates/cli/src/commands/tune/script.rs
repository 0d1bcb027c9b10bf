//! The shell script of `linerate tune --dry-run`: what would be tried, and how to undo it.

use std::io::{self, Write};

use host::Tree;
use host::tuning::{Files, PersistBy, PersistentChange, Script, Step, TuningError};
use measurement::remedy::Change;
use measurement::tune::{Attempt, TuneRecord};

/// Writes what a tuning would have tried as a script, or the files by which it would persist.
///
/// # Errors
/// An error of the kernel, or of writing to `out`.
pub(super) fn write(
    record: &TuneRecord,
    persist: Option<PersistBy>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let script = script(record).map_err(io::Error::other)?;
    out.write_all(text(&script, persist, &Tree::live()).as_bytes())
}

/// A script, or the files by which its changes persist.
pub(in crate::commands) fn text(
    script: &Script,
    persist: Option<PersistBy>,
    tree: &Tree,
) -> String {
    let Some(by) = persist else { return script.to_string() };
    let changes = script
        .changes()
        .map(|(setting, undo)| PersistentChange { setting: setting.clone(), undo: undo.to_vec() });
    let Files { files, left_out } = host::tuning::files(tree, by, &changes.collect::<Vec<_>>());
    let files = files.iter().map(ToString::to_string).collect::<Vec<_>>();
    let left_out = left_out.iter().map(|(setting, why)| format!("# Left out, {why}: {setting}\n"));
    let text = files.join("\n") + &left_out.collect::<String>();
    if text.is_empty() { "# No setting of this host would be changed.\n".to_owned() } else { text }
}

fn script(record: &TuneRecord) -> Result<Script, TuningError> {
    let attempts = record.attempts.iter();
    let changes = attempts.map(|attempt| {
        let changes = attempt.changes.iter().map(|one| one.change.clone());
        (attempt, changes.collect::<Vec<_>>())
    });
    let all: Vec<(&Attempt, Vec<Change>)> = changes.collect();
    let steps = all.iter().map(|(attempt, changes)| {
        // What can be made can be undone.
        let is_refused = attempt.changes.iter().all(|one| one.undo.is_empty());
        let refused = attempt.reason.as_deref().filter(|_| is_refused);
        Step { reason: &attempt.finding, changes, refused }
    });
    host::tuning::script(&Tree::live(), &steps.collect::<Vec<_>>())
}
