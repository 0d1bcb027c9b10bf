//! Flags of the output of commands that make one record.

use std::path::PathBuf;

use clap::Args;
use clap::builder::BoolishValueParser;

use super::format::FormatFlags;
use super::values::parse_tag;

/// Output.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct RecordOutputFlags {
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    /// Write the record as JSON to a file too, packed if its name ends in .gz
    #[arg(short, long, env = "LINERATE_OUTPUT", value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Label for the record; may be given several times
    #[arg(long, env = "LINERATE_TAG", value_name = "KEY=VALUE", value_parser = parse_tag)]
    pub(crate) tag: Vec<(String, String)>,
    /// No progress
    #[arg(short, long, env = "LINERATE_QUIET", value_parser = BoolishValueParser::new())]
    pub(crate) quiet: bool,
}
