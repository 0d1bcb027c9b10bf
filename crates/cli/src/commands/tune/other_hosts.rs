//! The scripts of `linerate tune --dry-run` for other hosts, behind the one for this host in the same
//! file.

use std::io::{self, Write};

use host::tuning::Script;
use measurement::Foreign;
use measurement::host::Role;
use measurement::tune::{Attempt, TriedChange, TuneRecord};

/// The record without the changes of other hosts.
pub(super) fn of_this_host(record: &TuneRecord) -> TuneRecord {
    of_host(record, &Role::Here)
}

/// Writes a script for each of `hosts`: what they are called in the record, and on the network.
///
/// # Errors
/// An error of writing to `out`.
pub(super) fn write(
    record: &TuneRecord,
    hosts: &[(Role, String)],
    out: &mut dyn Write,
) -> io::Result<()> {
    for (role, name) in hosts {
        let marker = format!("#### {}", comment(name));
        // sh(1) reads a file as it runs it.
        writeln!(out, "exit 0")?;
        writeln!(out, "# For {0}: sed '1,/^{marker}$/d' FILE | ssh {0} sudo sh -s", comment(name))?;
        writeln!(out, "# and, to undo it, the same with \"sh -s undo\".\n{marker}")?;
        write!(out, "{}", script(&of_host(record, role)))?;
    }
    Ok(())
}

/// The script of the changes of a record.
fn script(record: &TuneRecord) -> Script {
    let steps = record.attempts.iter().map(|attempt| {
        let changes = attempt.changes.iter();
        let changes = changes.map(|one| (&one.change.setting, one.undo.as_slice()));
        (attempt.finding.as_str(), changes.collect())
    });
    Script::of_changes(steps)
}

/// Whether a change can be made.
fn is_made(change: &TriedChange) -> bool {
    !change.undo.is_empty()
}

fn of_host(record: &TuneRecord, host: &Role) -> TuneRecord {
    let mut record = record.clone();
    let is_other = |change: &TriedChange| change.change.host != *host;
    let is_foreign =
        |attempt: &Attempt| attempt.changes.iter().all(|one| is_other(one) && is_made(one));
    record.attempts.retain(|attempt| attempt.changes.is_empty() || !is_foreign(attempt));
    for attempt in &mut record.attempts {
        attempt.changes.retain(|one| !is_other(one) || !is_made(one));
    }
    record
}

/// One word of a shell and a line of a comment, whatever the name has.
fn comment(text: &str) -> String {
    Foreign::from(text).into_text().replace('\'', " ")
}
