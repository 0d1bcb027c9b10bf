//! Flags of `import`.

use std::path::PathBuf;

use clap::Args;

use super::format::FormatFlags;
use super::store::SaveFlags;
use super::values::parse_tag;

/// Finds the runs of iperf3 and iperf in texts of any kind, and judges them. Text, JSON and CSV of
/// these programs are read, from logs, mail or pages, with other lines between them. What client
/// and server printed of one run is one row, also when each has a file of its own.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ImportFlags {
    /// Texts; -: standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    /// Write the records as JSON to a file too, packed if its name ends in .gz
    #[arg(short, long, env = "LINERATE_OUTPUT", value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Label the runs, e.g. site=lab; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_tag)]
    pub(crate) tag: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) save: SaveFlags,
}

const EXAMPLES: &str = "\
Examples:
  iperf3 -c 10.0.0.2 | linerate import -           one run
  linerate import client.log server.log            both ends of the same runs
  linerate import mail.txt -o runs.json; linerate explain runs.json
                                                   what limited each run
  linerate import *.log --save --tag nic=old       for history, compare and explain last

Exit codes: 0 done; 1 failed; 2 usage; 3 a result is INVALID";
