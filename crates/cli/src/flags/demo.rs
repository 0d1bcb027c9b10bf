//! Flags of `demo`.

use std::time::Duration;

use clap::Args;
use clap::builder::BoolishValueParser;
use measurement::BitRate;
use measurement::units::parse_duration;

use super::format::FormatFlags;

/// Hosts of its own, a fault, its verdict, the fix that it names, and what that gains.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  linerate demo\n  linerate demo --hold\n  linerate demo --link-rate 100M --time 1s --json"
)]
pub(crate) struct DemoFlags {
    /// Rate of the link, each way
    #[arg(long, default_value = "1G", env = "LINERATE_LINK_RATE", value_name = "RATE")]
    pub(crate) link_rate: BitRate,
    /// Duration of each of the four measurements
    #[arg(short, long, default_value = "2s", env = "LINERATE_TIME", value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) time: Duration,
    /// Keep the hosts until Ctrl-C, and say how to run commands there
    #[arg(long, env = "LINERATE_HOLD", value_parser = BoolishValueParser::new())]
    pub(crate) hold: bool,
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    /// No progress
    #[arg(short, long, env = "LINERATE_QUIET", value_parser = BoolishValueParser::new())]
    pub(crate) quiet: bool,
}
