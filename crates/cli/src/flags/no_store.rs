//! The flags of a linerate that was built without its history: none.

use clap::Args;

/// The history, of commands that test.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct StoreFlags {}

/// The file of the history.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct StoreFile {}
