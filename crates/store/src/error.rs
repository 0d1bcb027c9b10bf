//! What can go wrong with a store.

use std::io;
use std::path::{Path, PathBuf};

use measurement::Foreign;
use rusqlite::ErrorCode;
use thiserror::Error;

/// Reason for which a store cannot be used. Each message names the file, and what to do.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The file or its folder cannot be opened or made.
    #[error("cannot open the store {}: {reason}; choose another file with --store", .path.display())]
    Open {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// The file is something else.
    #[error("{} is no store of linerate: choose another file with --store", .path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A later version of linerate made the file, or changed it.
    #[error(
        "the store {} has version {found}, and this linerate reads up to version {known}: \
         update linerate, or choose another file with --store", .path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Version of its schema.
        found: i64,
        /// The last version that this build knows.
        known: i64,
    },
    /// The file system is full.
    #[error("no space left for the store {}: delete runs with linerate history --keep 90d", .path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// Another process has held the store for too long.
    #[error("the store {} is in use by another process: try again", .path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The file may not be written to.
    #[error("the store {} is read-only: choose another file with --store", .path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// The content of the file contradicts itself.
    #[error("the store {} is damaged ({what}): move it away, and linerate begins a new one", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// There is no such run.
    #[error("there is no run {number} in the history: linerate history lists them")]
    NoRun {
        /// Number that was asked for.
        number: i64,
    },
}

impl StoreError {
    /// That a file or folder cannot be opened; the reason is in words, without a number.
    pub(crate) fn open(path: &Path, error: &io::Error) -> Self {
        let text = error.to_string();
        let reason = text.split(" (os error").next().unwrap_or_default().to_lowercase();
        Self::Open { path: path.to_owned(), reason }
    }

    /// That the file contradicts itself. What SQLite says of it may quote the file.
    pub(crate) fn damaged(path: &Path, what: &str) -> Self {
        let what = Foreign::begin(what, LONGEST).into_text();
        let what = what.split_whitespace().collect::<Vec<_>>().join(" ");
        Self::Damaged { path: path.to_owned(), what }
    }

    /// What an error of SQLite means for the file at `path`.
    pub(crate) fn of(path: &Path, error: &rusqlite::Error) -> Self {
        let path = path.to_owned();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy { path },
            Some(ErrorCode::DiskFull) => Self::Full { path },
            Some(ErrorCode::ReadOnly) => Self::ReadOnly { path },
            Some(ErrorCode::NotADatabase) => Self::Foreign { path },
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                Self::Open { path, reason: error.to_string() }
            }
            _ => Self::damaged(&path, &error.to_string()),
        }
    }
}

/// Letters of what is wrong with a file.
const LONGEST: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_damaged_file_has_does_not_break_the_sentence() {
        let what = format!("malformed schema (a) - \u{1b}[2J\n{}", "x".repeat(500));
        let text = StoreError::damaged(Path::new("/a"), &what).to_string();
        assert!(
            text.starts_with("the store /a is damaged (malformed schema (a) - [2J x"),
            "{text}"
        );
        assert!(text.len() < 200 && text.chars().all(measurement::is_shown), "{text}");
    }
}
