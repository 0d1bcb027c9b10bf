//! Flags of `demo`.

use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{Args, ValueEnum};
use measurement::BitRate;
use measurement::units::parse_duration;

use super::format::FormatFlags;

/// Hosts of its own, a fault, its verdict, the fix that it names, and what that gains.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  linerate demo\n  linerate demo --hold\n  linerate demo --dut\n  linerate demo --dut=router --rules 1000\n  linerate demo --link-rate 100M --time 1s --json"
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
    /// Instead, a device under test between two ports, and what linerate dut finds
    #[arg(long, env = "LINERATE_DUT", value_name = "DEVICE", num_args = 0..=1, default_missing_value = "slow", require_equals = true)]
    pub(crate) dut: Option<DemoDevice>,
    /// Sizes of frames for --dut, as in linerate dut
    #[arg(
        long,
        default_value = "64,512,1518",
        env = "LINERATE_SIZES",
        value_name = "SIZES",
        requires = "dut"
    )]
    pub(crate) sizes: String,
    /// Time that the device of --dut=slow takes for each frame
    #[arg(long, default_value = "30us", env = "LINERATE_COST", value_name = "DURATION", value_parser = parse_duration, requires = "dut")]
    pub(crate) cost: Duration,
    /// Rules of nftables for --dut=router, which needs the program nft
    #[arg(long, default_value_t = 0, env = "LINERATE_RULES", value_name = "COUNT", value_parser = clap::value_parser!(u32).range(..=100_000), requires = "dut")]
    pub(crate) rules: u32,
    /// Shell command that forwards between the interfaces device-a and device-b, for --dut
    #[arg(long, env = "LINERATE_DEVICE_COMMAND", value_name = "COMMAND", requires = "dut")]
    pub(crate) device_command: Option<String>,
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    /// No progress
    #[arg(short, long, env = "LINERATE_QUIET", value_parser = BoolishValueParser::new())]
    pub(crate) quiet: bool,
}

/// A device under test for a demonstration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DemoDevice {
    /// A bridge of the kernel
    Bridge,
    /// A router of the kernel, with --rules
    Router,
    /// A router with NAT towards port B
    Nat,
    /// A router that shapes to --link-rate towards port B
    Shaper,
    /// A program of XDP, from port A to port B
    Xdp,
    /// A program that takes --cost for each frame
    Slow,
}
