//! The shell script of `linerate tune --dry-run`: what would be tried, and how to undo it.

use std::io::{self, Write};

use measurement::tune::{Attempt, TuneRecord};

/// Writes the script: without an argument it makes the changes, with `undo` it undoes them.
///
/// # Errors
/// An error of writing to `out`.
pub(super) fn write(record: &TuneRecord, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "#!/bin/sh\n# As root: sh FILE makes the changes, sh FILE undo undoes them.")?;
    if let Some(verdict) = &record.verdict {
        writeln!(out, "# {}.", comment(verdict))?;
    }
    writeln!(out, "set -e\ncase \"$1\" in\nundo)")?;
    let mut is_empty = true;
    for one in record.attempts.iter().rev().flat_map(|attempt| attempt.changes.iter().rev()) {
        for command in &one.undo {
            writeln!(out, "    {command}")?;
            is_empty = false;
        }
    }
    writeln!(out, "    ;;\n*)")?;
    record.attempts.iter().try_for_each(|attempt| write_attempt(attempt, out))?;
    writeln!(out, "    ;;\nesac")?;
    if is_empty { writeln!(out, "# No setting of this host would be changed.") } else { Ok(()) }
}

fn write_attempt(attempt: &Attempt, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "    # {}.", comment(&attempt.finding))?;
    let reason = attempt.reason.as_deref().unwrap_or_default();
    for one in &attempt.changes {
        let command = one.change.command();
        if one.undo.is_empty() && one.change.setting.is_option() {
            writeln!(out, "    # An option of the test: {command}")?;
        } else if one.undo.is_empty() {
            writeln!(out, "    # Not here, {}: {command}", comment(reason))?;
        } else {
            writeln!(out, "    {command}")?;
        }
    }
    // A list of commands must not be empty (sh(1), 2.9.4).
    writeln!(out, "    :")
}

/// One line, whatever a host put into the text.
fn comment(text: &str) -> String {
    text.replace(|letter: char| letter.is_control(), " ")
}
