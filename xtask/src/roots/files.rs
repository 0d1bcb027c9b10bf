//! What is in a system: its files and its users.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::command;

/// The paths of a system, and the lines of the files that list users and groups.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Contents(BTreeSet<String>);

impl Contents {
    /// What is here and was not there before, and with `-` what was and is no more.
    pub(super) fn since(&self, before: &Self) -> Vec<String> {
        let gone = before.0.difference(&self.0).map(|one| format!("-{one}"));
        self.0.difference(&before.0).cloned().chain(gone).collect()
    }
}

/// Lists a system, without what apt and dpkg note of their own work, and without the last run, which
/// is the user's: a package leaves homes alone.
pub(super) fn list(root: &Path) -> Result<Contents> {
    let mut find = Command::new("find");
    find.args([".", "-xdev", "-printf", "/%P %y %m %U:%G %l\\n"]).current_dir(root);
    let listed = command::output(&mut find)?;
    let mut lines: BTreeSet<_> =
        listed.lines().filter(|line| !is_note(line)).map(str::to_owned).collect();
    for path in ACCOUNTS {
        let file = root.join(path.trim_start_matches('/'));
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {path}"))?;
        lines.extend(text.lines().map(|line| format!("{path}: {line}")));
    }
    Ok(Contents(lines))
}

/// Whether a path is that of a note: a log, a cache, a list, or the copy that passwd(1) and dpkg(1)
/// keep of a file that they changed.
fn is_note(line: &str) -> bool {
    let path = line.split(' ').next().unwrap_or(line);
    let is_copy = path.ends_with("-old") || (path.starts_with("/etc/") && path.ends_with('-'));
    is_copy || path == "/etc/.pwd.lock" || NOTES.iter().any(|folder| path.starts_with(folder))
}

const NOTES: [&str; 8] = [
    "/root/.local",
    "/var/cache/apt/",
    // Of dpkg-preconfigure(8).
    "/var/cache/debconf/tmp.ci",
    "/var/lib/apt/",
    "/var/lib/dpkg/lock",
    "/var/lib/dpkg/triggers/",
    "/var/log/",
    "/var/lib/dpkg/status",
];
const ACCOUNTS: [&str; 4] = ["/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow"];

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(lines: &[&str]) -> Contents {
        Contents(lines.iter().map(|line| (*line).to_owned()).collect())
    }

    #[test]
    fn what_came_and_what_went_is_told() {
        let (before, after) = (contents(&["/a f", "/b f"]), contents(&["/b f", "/c f"]));
        assert_eq!(after.since(&before), ["/c f", "-/a f"]);
        assert!(after.since(&after).is_empty());
    }

    #[test]
    fn only_notes_are_left_out() {
        for note in ["/var/log/dpkg.log f 644", "/etc/passwd- f 644", "/var/lib/dpkg/status-old f"]
        {
            assert!(is_note(note), "{note}");
        }
        for other in ["/etc/passwd f 644", "/usr/bin/linerate f 755", "/var/lib/dpkg/info/a.list f"]
        {
            assert!(!is_note(other), "{other}");
        }
    }
}
