//! Flags of `compare`.

use clap::builder::BoolishValueParser;
use clap::{Args, ValueEnum};

use super::requirements::parse_percentage;
use super::store::StoreFile;

/// Compares runs before a change with runs after it, row by row: the ratio of the results and its
/// confidence interval. Runs with the stamp INVALID do not count.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompareFlags {
    /// The runs before: a file of linerate test -o or of what iperf3 printed, last, last~1, a number
    /// of linerate history, or a tag
    #[arg(value_name = "BEFORE")]
    pub(crate) before: String,
    /// The runs after, in the same way
    #[arg(value_name = "AFTER")]
    pub(crate) after: String,
    /// Print it in this format
    #[arg(long, value_enum, default_value_t, value_name = "NAME")]
    pub(crate) format: ComparisonFormat,
    /// Short for --format json
    #[arg(long, env = "LINERATE_JSON", value_parser = BoolishValueParser::new())]
    pub(crate) json: bool,
    /// Exit with 4 if the runs show that a row is worse by more, e.g. 5%
    #[arg(long, value_name = "PERCENT", value_parser = parse_percentage)]
    pub(crate) fail_below: Option<f64>,
    #[command(flatten)]
    pub(crate) file: StoreFile,
}

/// How a comparison is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ComparisonFormat {
    /// For people
    #[default]
    Text,
    /// A table for a commit message
    Markdown,
    /// One object
    Json,
}

const EXAMPLES: &str = "\
Examples:
  linerate test 10.0.0.2 --repeat 5 -o a.json    before a change
  linerate test 10.0.0.2 --repeat 5 -o b.json    after it
  linerate compare a.json b.json
  linerate compare last~1 last --format markdown
  linerate compare before after --fail-below 5%

An interval takes two runs of a row on each side (--repeat 5), or three pairs if the runs of both
sides alternated. Of alternating runs the pairs are compared (Student's t), of others the means
(Welch's t), both by their logarithms; the intervals of all rows hold together with 95 %.
Exit codes: 0 done; 1 too few runs for --fail-below; 2 usage; 4 a row is worse by more.";
