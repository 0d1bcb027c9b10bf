//! `cross`: the lints on hosts of other width and byte order, and tests between such hosts and
//! this one.

mod lint;
mod talk;

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::workspace::Workspace;

/// Lints the binary for hosts of 32 and 64 bits and either byte order
///
/// Needs rustup, and adds the targets to the toolchain. Nothing is linked or run without --talk.
#[derive(Debug, Args)]
pub(crate) struct Cross {
    /// Targets of rustc instead of the usual ones
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// Build for big-endian and 32-bit hosts, and test between these builds, in qemu's user mode,
    /// and the linerate and the iperf3 of this host, in both roles
    #[arg(long)]
    talk: bool,
    /// Program of this host for --talk [default: built from this tree]
    #[arg(long, value_name = "FILE", requires = "talk")]
    linerate: Option<PathBuf>,
}

impl Cross {
    pub(crate) fn run(self) -> Result<String> {
        let workspace = Workspace::find()?;
        if self.talk {
            return talk::run(&workspace, &self.targets, self.linerate);
        }
        lint::run(&workspace, &self.targets)
    }
}
