//! What the comparisons over hosts of their own are told alike.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;

use super::streams::Route;
use crate::output::say;
use crate::workspace::Workspace;

/// Who takes part, how often, how long, where, and where it is written.
#[derive(Debug, Args)]
pub(super) struct Flags {
    /// A further program to compare with; may be given several times
    #[arg(long, value_name = "PATH")]
    pub(super) peer: Vec<PathBuf>,
    /// A linerate to use in place of the one that is built here
    #[arg(long, value_name = "PATH")]
    linerate: Option<PathBuf>,
    /// How often each program runs each row
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(super) rounds: u32,
    /// Seconds of each run
    #[arg(long, default_value_t = 3, value_name = "S", value_parser = clap::value_parser!(u32).range(1..=600))]
    pub(super) time: u32,
    /// Ways from client to server
    #[arg(long, value_name = "WAY,..", value_delimiter = ',', default_values_t = [Route::Lo, Route::Veth])]
    pub(super) over: Vec<Route>,
    /// Write the tables to a file too
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

impl Flags {
    /// Our program, built unless it was named.
    pub(super) fn ours(&self, workspace: &Workspace) -> Result<PathBuf> {
        match &self.linerate {
            Some(path) => Ok(path.clone()),
            None => workspace.build_release(),
        }
    }

    /// Shows a report, and writes it where it was asked for.
    pub(super) fn publish(&self, report: &str) -> Result<()> {
        say(format!("\n{report}"));
        match &self.markdown {
            Some(file) => {
                fs::write(file, report).with_context(|| format!("cannot write {}", file.display()))
            }
            None => Ok(()),
        }
    }
}

/// Prepares to make hosts; to be called before the first thread starts.
pub(super) fn prepare_hosts() -> Result<()> {
    match lab::prepare() {
        lab::Access::Forbidden { reason } => bail!("cannot make hosts to run on: {reason}"),
        _ => Ok(()),
    }
}
