//! Flags of `history`.

use clap::builder::BoolishValueParser;
use clap::{Args, ValueEnum};
use store::{Keep, Since, Tag};

use super::store::StoreFile;

/// Lists the runs of linerate test, latency and diagnose on this host, the latest first.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct HistoryFlags {
    /// Runs of this host, by its name, or against this server, by its address
    #[arg(long, value_name = "NAME|ADDRESS")]
    pub(crate) host: Option<String>,
    /// Runs since a day, e.g. 2026-11-01, or of the last days, e.g. 7d
    #[arg(long, value_name = "DATE|DAYS")]
    pub(crate) since: Option<Since>,
    /// Runs with this tag: a name, or name=value
    #[arg(long, value_name = "TAG", value_parser = Tag::read)]
    pub(crate) tag: Option<Tag>,
    /// Rows whose title has this text, e.g. "TCP send"
    #[arg(long, value_name = "TEXT")]
    pub(crate) row: Option<String>,
    /// How many runs at most [default: 20, with --by all]
    #[arg(short = 'n', long, value_name = "COUNT")]
    pub(crate) most: Option<u32>,
    /// Compare each row by version, and say where it changed
    #[arg(long, value_name = "WHAT")]
    pub(crate) by: Option<By>,
    /// Delete the runs beyond so many, e.g. 500, or older than so many days, e.g. 90d
    #[arg(long, value_name = "RUNS|DAYS", conflicts_with_all = ["host", "since", "tag", "row", "most", "by"])]
    pub(crate) keep: Option<Keep>,
    /// Print JSON
    #[arg(long, env = "LINERATE_JSON", value_parser = BoolishValueParser::new())]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) file: StoreFile,
}

/// What has versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    /// Kernel of the host that tested
    Kernel,
    /// Driver of the interface
    Driver,
    /// Firmware of the interface
    Firmware,
    /// linerate itself
    Linerate,
}

const EXAMPLES: &str = "\
Examples:
  linerate history                               the last 20 runs
  linerate history --host 10.0.0.2 --since 7d    against one server, in the last week
  linerate history --by kernel                   a regression from one kernel to the next
  linerate history --row \"TCP send\" --json
  linerate history --keep 90d                    delete what is older

linerate show RUN prints a run again, linerate compare compares two.";
