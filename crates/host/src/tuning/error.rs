//! Why a setting cannot be changed, and what fails in a session of changes.

use std::io;
use std::path::PathBuf;

use measurement::remedy::Setting;
use measurement::units::counted;
use thiserror::Error;

use super::outcome::ChangeId;

/// Why a setting is not changed here. Nothing was written.
#[derive(Debug, Error)]
pub enum Refusal {
    /// It is an option of a test, and no setting of a host.
    #[error("it is an option of linerate test")]
    Option,

    /// The kernel or the device does not have it.
    #[error("{what} is not there")]
    Absent {
        /// What is not there.
        what: String,
    },

    /// The device has it and does not allow to change it.
    #[error("{what} cannot be changed")]
    Fixed {
        /// What cannot be changed.
        what: String,
    },

    /// The value is not one that the kernel or the device takes.
    #[error("{value} is not possible: {why}")]
    Impossible {
        /// The value.
        value: String,
        /// What is possible.
        why: String,
    },

    /// What the change replaces could not be restored exactly.
    #[error("the present value could not be restored: {why}")]
    NotRestorable {
        /// Why not.
        why: String,
    },

    /// A change of it in this session is not undone yet.
    #[error("{by} changed it and is not undone yet")]
    AlreadyChanged {
        /// That change.
        by: Setting,
    },

    /// The thread, or what is mounted at `/sys`, is of another network namespace.
    #[error("{what} of another network namespace: run linerate with ip netns exec")]
    OtherNamespace {
        /// What is.
        what: &'static str,
    },

    /// It is not linerate's to change.
    #[error("linerate does not change it")]
    NotListed,

    /// It could not be read.
    #[error("failed to read {what}: {source}")]
    Read {
        /// What could not be read.
        what: String,
        /// The cause.
        source: io::Error,
    },
}

/// What fails in a session of changes.
#[derive(Debug, Error)]
pub enum TuningError {
    /// Another session has the directory.
    #[error("another linerate changes settings of this host: wait until it ends ({})", path.display())]
    Busy {
        /// The file that it has locked.
        path: PathBuf,
    },

    /// An earlier session ended without undoing its changes.
    #[error("an earlier run did not undo its changes: type linerate undo ({})", path.display())]
    Unfinished {
        /// Its journal.
        path: PathBuf,
    },

    /// The directory of the journal cannot be used.
    #[error("failed to use {}: {source} (run as root, or choose a directory with --state)", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },

    /// The journal cannot be read, written or synchronized.
    #[error("failed to keep the journal {}: {source}", path.display())]
    Journal {
        /// The journal.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },

    /// Lines of the journal are damaged; the changes of all others are undone.
    #[error("{} damaged in {}: compare the settings with linerate capture", counted(*lines as u64, "line"), path.display())]
    Damaged {
        /// Where the journal is now.
        path: PathBuf,
        /// How many lines.
        lines: usize,
    },

    /// The journal is of changes in another network namespace.
    #[error(
        "the changes were made in network namespace {inode}: type linerate undo there, e.g. with ip netns exec"
    )]
    OtherNamespace {
        /// Inode number of that namespace (namespaces(7)).
        inode: u64,
    },

    /// The kernel cannot be asked.
    #[error("failed to ask the kernel: {0}")]
    Kernel(#[source] io::Error),

    /// A setting is not changed.
    #[error("{setting}: {why}")]
    Refused {
        /// The setting.
        setting: Setting,
        /// Why not.
        why: Refusal,
    },

    /// The kernel refused a value.
    #[error("{setting}: {source}")]
    Apply {
        /// The setting.
        setting: Setting,
        /// What the kernel says.
        source: io::Error,
    },

    /// The value before a change could not be restored.
    #[error(
        "failed to undo {setting}: {source}; if it is to stay, give it up: linerate undo --give-up {id}"
    )]
    Undo {
        /// Number of the change.
        id: ChangeId,
        /// The setting.
        setting: Setting,
        /// What the kernel says.
        source: io::Error,
    },

    /// A file by which changes persist cannot be read or written.
    #[error("failed to write {}: {source}", path.display())]
    Persist {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },

    /// Earlier changes persist in another way, or below another directory.
    #[error(
        "changes persist by {by} already: type --persist {by}, or linerate undo --persistent first"
    )]
    PersistedOtherwise {
        /// The way.
        by: &'static str,
    },

    /// A file by which changes persist was changed by somebody else.
    #[error("{path} was edited since: delete it, and type linerate undo --persistent again")]
    Edited {
        /// The file.
        path: String,
    },

    /// The change is undone or kept, or of another session.
    #[error("there is no change {0} to undo")]
    NoSuchChange(ChangeId),
}
