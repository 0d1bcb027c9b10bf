//! Flags of `undo`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::BoolishValueParser;

/// Restores the settings that a killed linerate has left changed on this host, by its journal: the
/// latest change first. Changes that were kept stay; files of --persist are taken back by
/// --persistent.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct UndoFlags {
    /// Take back the files by which changes outlive a boot, in place of the journal: what they replaced
    /// is there again; values in effect stay until the next boot
    #[arg(long, env = "LINERATE_PERSISTENT", value_parser = BoolishValueParser::new())]
    pub(crate) persistent: bool,
    /// Print the commands that would restore the settings, or the files that would be taken back,
    /// and restore nothing
    #[arg(long, env = "LINERATE_DRY_RUN", value_parser = BoolishValueParser::new())]
    pub(crate) dry_run: bool,
    /// Give the change with this number up, which the kernel refuses to take back: it stays as it is made
    #[arg(
        long,
        env = "LINERATE_GIVE_UP",
        value_name = "ID",
        conflicts_with_all = ["persistent", "dry_run"]
    )]
    pub(crate) give_up: Option<u32>,
    /// Directory of the journal
    #[arg(
        long,
        default_value = host::tuning::DIRECTORY,
        env = "LINERATE_STATE",
        value_name = "DIR"
    )]
    pub(crate) state: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  linerate undo --dry-run       what would be restored
  linerate undo
  linerate undo --persistent    after linerate tune --persist

It needs root, and may be repeated. Exit code 1: a setting could not be restored, and is still
in the journal: its number is named, for --give-up.";
