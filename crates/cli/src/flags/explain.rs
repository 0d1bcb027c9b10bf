//! Flags of `explain`.

use std::path::PathBuf;

use clap::Args;
use measurement::BitRate;

use super::format::FormatFlags;
use super::store::StoreFile;

/// Explains a rule, a run of the history, what limited a test whose record is in a file, or where CPU time went by
/// what perf printed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExplainFlags {
    /// A rule such as gro-off; last, last~1 for the run before, a number of linerate history or a
    /// tag; or a file: a record, the output of iperf3 or iperf, the text of "perf report --stdio", of "perf top --stdio" or of "perf script", or
    /// folded stacks
    /// [default: list all rules]
    #[arg(value_name = "RULE|RUN|FILE")]
    pub(crate) what: Option<String>,
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    /// For the text of perf: the rate that was measured meanwhile, to estimate what could be, e.g. 686M
    #[arg(long, requires = "what")]
    pub(crate) rate: Option<BitRate>,
    /// For the text of perf: the machine's architecture as "uname -m" has it [default: any]
    #[arg(long, value_name = "NAME", requires = "what")]
    pub(crate) architecture: Option<String>,
    /// Also write folded stacks to FILE, as flamegraph.pl reads them
    #[arg(long, value_name = "FILE", requires = "what")]
    pub(crate) folded: Option<PathBuf>,
    /// All of the evidence on a record: accounts, further findings, notes, and what could not be
    /// checked
    #[arg(short, long)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) file: StoreFile,
}

const EXAMPLES: &str = "\
Examples:
  linerate explain                        all rules
  linerate explain udp-receive-buffer     one of them
  linerate explain last                   stamp, rate, limit and remedy of the last run here
  linerate explain last -v                all of the evidence, too
  linerate test 10.0.0.2 --output a.json; linerate explain a.json
                                          what limited each row
  linerate explain a.json --folded a.folded; flamegraph.pl a.folded > a.svg
                                          what CPUs did meanwhile, as a picture
  perf report --stdio > a.txt; linerate explain a.txt --rate 686M --architecture riscv64
                                          what limits by the samples of perf, and what could be

Exit codes: 0 done; 1 failed; 2 usage; 3 a result is INVALID";
