//! Flags of `mesh` for hosts that are reached by ssh.

use std::path::PathBuf;

use campaign::mesh::Ssh;
use clap::Args;
use clap::builder::BoolishValueParser;

/// ssh.
#[derive(Debug, Args)]
#[command(next_help_heading = "ssh")]
pub(crate) struct MeshSshFlags {
    /// Configuration of ssh, as its -F
    #[arg(long, env = "LINERATE_SSH_CONFIG", value_name = "FILE", conflicts_with_all = ["via", "slurm", "kubernetes", "join"])]
    pub(crate) ssh_config: Option<PathBuf>,
    /// Copy this linerate to ~/.cache/linerate of hosts that have none of its version
    #[arg(long, conflicts_with_all = ["via", "slurm", "kubernetes", "join"], value_parser = BoolishValueParser::new())]
    pub(crate) push: bool,
}

impl MeshSshFlags {
    /// ssh with these options.
    pub(crate) fn engine(&self) -> Ssh {
        let file = self.ssh_config.iter();
        Ssh {
            options: file.flat_map(|file| ["-F".to_owned(), file.display().to_string()]).collect(),
        }
    }
}
