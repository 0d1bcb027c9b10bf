//! The flags of a linerate that was built without its history: none.

use std::path::Path;

use clap::Args;

use crate::history::Keeping;

/// The history, of commands that test.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct StoreFlags {}

/// The file of the history.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct StoreFile {}

#[expect(clippy::unused_self, reason = "as with the history")]
impl StoreFlags {
    /// No run is kept.
    pub(crate) const fn keeping(&self, _command: &'static str) -> Option<Keeping> {
        None
    }
}

#[expect(clippy::unused_self, reason = "as with the history")]
impl StoreFile {
    /// There is none.
    pub(crate) const fn path(&self) -> Option<&Path> {
        None
    }
}
