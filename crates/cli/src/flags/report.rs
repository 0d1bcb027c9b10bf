//! Flags of `report`.

use std::path::PathBuf;

use clap::Args;

use super::store::StoreFile;

/// Writes one file of HTML that shows tests: stamps, verdicts with their evidence, throughput over
/// time, where datagrams went, CPU time, round trips, knees, the hosts, and the commands that repeat
/// it. The file needs no network and no other file.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReportFlags {
    /// Files of -o (test, latency, search, sweep, import) or logs of iperf3, or runs: last, last~1, a
    /// number of linerate history, or a tag
    #[arg(value_name = "RECORD", required = true)]
    pub(crate) records: Vec<String>,
    /// The file
    #[arg(short, long, required = true, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Runs before a change, to compare with those of RECORD
    #[arg(long, value_name = "RECORD")]
    pub(crate) before: Option<String>,
    /// Its title [default: the addresses of both ends]
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    #[command(flatten)]
    pub(crate) file: StoreFile,
}

const EXAMPLES: &str = "\
Examples:
  linerate report last -o last.html
  linerate report a.json search.json --title 'Link to the lab' -o lab.html
  linerate report after --before before -o change.html   tags of linerate history
  linerate report client.log -o old.html                 a log of iperf3";
