//! Flags that say where the history of runs is, and whether a run goes into it.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::BoolishValueParser;
use store::Keep;

use crate::history::Keeping;

/// The history, of commands that test.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct StoreFlags {
    #[command(flatten)]
    pub(crate) file: StoreFile,
    /// Do not keep this run in the history
    #[arg(long, conflicts_with_all = ["store", "keep"], env = "LINERATE_NO_STORE", value_parser = BoolishValueParser::new())]
    pub(crate) no_store: bool,
    /// Delete older runs from the history: keep so many runs, e.g. 500, or days, e.g. 90d
    /// [default: keep all]
    #[arg(long, env = "LINERATE_KEEP", value_name = "RUNS|DAYS")]
    pub(crate) keep: Option<Keep>,
}

impl StoreFlags {
    /// How a run of a command is kept; none: it is not.
    pub(crate) fn keeping(&self, command: &'static str) -> Option<Keeping> {
        let keeping = || Keeping { file: self.file.store.clone(), keep: self.keep, command };
        (!self.no_store).then(keeping)
    }
}

/// The history, of a command that keeps runs on request.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SaveFlags {
    /// Add each run to the history
    #[arg(long)]
    pub(crate) save: bool,
    #[command(flatten)]
    pub(crate) file: StoreFile,
}

impl SaveFlags {
    /// How runs of a command are kept; none: they are not.
    pub(crate) fn keeping(&self, command: &'static str) -> Option<Keeping> {
        self.save.then(|| Keeping { file: self.file.store.clone(), keep: None, command })
    }
}

/// The file of the history.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct StoreFile {
    /// The file of the history [default: $XDG_STATE_HOME/linerate/history.db, or that in
    /// ~/.local/state]
    #[arg(long, env = "LINERATE_STORE", value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,
}

impl StoreFile {
    /// The file that was typed; none: the usual one.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.store.as_deref()
    }
}
