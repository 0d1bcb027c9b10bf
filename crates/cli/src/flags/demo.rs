//! Flags of `demo`.

use std::time::Duration;

use clap::Args;
use clap::builder::BoolishValueParser;
use measurement::BitRate;
use measurement::units::parse_duration;

use super::format::FormatFlags;

/// Two namespaces, a shaped link between them, the four rows of `test` over it, and three
/// tests in which something goes wrong, with where that is seen.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  linerate demo\n  linerate demo --link-rate 100M --time 2s --json"
)]
pub(crate) struct DemoFlags {
    /// Rate of the link, each way
    #[arg(long, default_value = "1G", env = "LINERATE_LINK_RATE", value_name = "RATE")]
    pub(crate) link_rate: BitRate,
    /// Duration of each of the seven measurements
    #[arg(short, long, default_value = "2s", env = "LINERATE_TIME", value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) time: Duration,
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    /// No progress
    #[arg(short, long, env = "LINERATE_QUIET", value_parser = BoolishValueParser::new())]
    pub(crate) quiet: bool,
}
