//! Flags of `serve status`.

use clap::{Args, Subcommand};

/// What is asked of a server that runs.
#[derive(Debug, Subcommand)]
pub(crate) enum ServeAction {
    /// List the tests of the servers on this host
    Status(StatusFlags),
}

/// Lists the tests that the servers on this host run: whose, in which direction, their rate now, and
/// the time left. Only root and the user who started a server may ask it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct StatusFlags {
    /// Only the server on this port [default: all on this host]
    #[arg(short, long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// Print it as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const EXAMPLES: &str = "\
Examples:
  linerate serve status
  sudo linerate serve status --port 5201 --json";
