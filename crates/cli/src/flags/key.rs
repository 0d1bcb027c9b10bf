//! Flags of `key`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Makes keys that two hosts share: one file for linerate serve --key on one host and linerate test
/// --key on the other, or for --tune-key.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct KeyFlags {
    #[command(subcommand)]
    pub(crate) action: KeyAction,
}

/// What is done with keys.
#[derive(Debug, Subcommand)]
pub(crate) enum KeyAction {
    /// Write a new random key to a file that only you can read
    New {
        /// The file, which must not exist
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

const EXAMPLES: &str = "\
Examples:
  linerate key new lab.key              once; copy the file to the other host, e.g. by scp -p
  linerate serve --key lab.key          on one host
  linerate test 10.0.0.2 --key lab.key  on the other";
