//! Flags of `dut`.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use campaign::ObservedHost;
use clap::builder::BoolishValueParser;
use clap::{Args, ValueEnum};
use measurement::dut::FrameDirection;
use measurement::units::parse_duration;
use packets::{FrameSizes, RFC_2544_SIZES};

use super::LinkFlags;
use super::format::FormatFlags;
use super::frames::parse_sizes;
use super::search::{parse_budget, parse_loss, parse_trial, parse_width};
use super::server::parse_observed;

/// Finds what a forwarder between two ports of this host carries: throughput, latency, loss and
/// bursts by size of frame (RFC 2544, RFC 9971), and whether device, link or tester is the limit.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DutFlags {
    /// Interface of this host at one side of the device
    #[arg(long, env = "LINERATE_PORT_A", value_name = "IF")]
    pub(crate) port_a: String,
    /// Interface of this host at its other side
    #[arg(long, env = "LINERATE_PORT_B", value_name = "IF")]
    pub(crate) port_b: String,
    /// Direction of the frames
    #[arg(long, default_value = "a-to-b", env = "LINERATE_DIRECTION", value_name = "WHICH")]
    pub(crate) direction: Directions,
    /// Sizes of frames with their check sequence, with commas between them: bytes, imix, or rfc2544
    /// for its seven and imix
    #[arg(long, default_value = "rfc2544", env = "LINERATE_SIZES", value_name = "SIZES", value_parser = parse_list)]
    pub(crate) sizes: SizeList,
    #[command(flatten)]
    pub(crate) goals: DutGoalFlags,
    #[command(flatten)]
    pub(crate) link: LinkFlags,
    /// Router at port B that frames from there go to, as --gateway is at port A
    #[arg(long, env = "LINERATE_GATEWAY_B", value_name = "ADDRESS", help_heading = "Frames")]
    pub(crate) gateway_b: Option<IpAddr>,
    /// Linerate on the device (serve --observe), which tells of its CPUs and counters
    #[arg(long, env = "LINERATE_OBSERVE", value_name = "HOST[:PORT]", value_parser = parse_observed)]
    pub(crate) observe: Option<ObservedHost>,
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    /// Write the record as JSON to a file too, packed if its name ends in .gz
    #[arg(short, long, env = "LINERATE_OUTPUT", value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// No progress
    #[arg(short, long, env = "LINERATE_QUIET", conflicts_with = "verbose", value_parser = BoolishValueParser::new())]
    pub(crate) quiet: bool,
    /// Show every trial, and in what the tests deviate from RFC 2544
    #[arg(short, long, env = "LINERATE_VERBOSE", value_parser = BoolishValueParser::new())]
    pub(crate) verbose: bool,
}

/// Goals and durations of the tests of each size.
#[derive(Debug, Args)]
#[command(next_help_heading = "Goals")]
pub(crate) struct DutGoalFlags {
    /// Loss that may be, a goal each, with commas between them
    #[arg(long, default_value = "0,0.1%,0.5%", env = "LINERATE_LOSS", value_name = "SHARES", value_delimiter = ',', value_parser = parse_loss)]
    pub(crate) loss: Vec<f64>,
    /// By how much the upper bound may exceed the lower one
    #[arg(long, default_value = "1%", env = "LINERATE_WIDTH", value_name = "SHARE", value_parser = parse_width)]
    pub(crate) width: f64,
    /// Duration of a trial at a bound, and of each test of latency
    #[arg(long, default_value = "1s", env = "LINERATE_FINAL_TRIAL", value_name = "DURATION", value_parser = parse_trial)]
    pub(crate) final_trial: Duration,
    /// Time for the search of a size
    #[arg(long, default_value = "45s", env = "LINERATE_BUDGET", value_name = "DURATION", value_parser = parse_budget)]
    pub(crate) budget: Duration,
    /// The longest burst that is tried; 0s: none
    #[arg(long, default_value = "1s", env = "LINERATE_BURST", value_name = "DURATION", value_parser = parse_burst)]
    pub(crate) burst: Duration,
    /// How often each size is measured
    #[arg(long, default_value_t = 1, env = "LINERATE_REPEAT", value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) repeat: u32,
    /// Shell command that resets the device, before each size
    #[arg(long, env = "LINERATE_RESET", value_name = "COMMAND")]
    pub(crate) reset: Option<String>,
}

/// Directions that are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Directions {
    /// From port A to port B
    AToB,
    /// From port B to port A
    BToA,
    /// Both at once
    Both,
    /// One, the other, and both at once
    All,
}

impl Directions {
    pub(crate) fn each(self) -> Vec<FrameDirection> {
        use FrameDirection::{AToB, BToA, Both};
        match self {
            Self::AToB => vec![AToB],
            Self::BToA => vec![BToA],
            Self::Both => vec![Both],
            Self::All => vec![AToB, BToA, Both],
        }
    }
}

/// Sizes that are measured one after another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SizeList(pub(crate) Vec<FrameSizes>);

fn parse_list(text: &str) -> Result<SizeList, String> {
    let mut all = Vec::new();
    for part in text.split(',').map(str::trim) {
        if part == "rfc2544" {
            all.extend(RFC_2544_SIZES.map(FrameSizes::one));
            all.push(FrameSizes::imix());
        } else {
            let hint = |hint| format!("'{part}' is no size: {hint}, or rfc2544");
            all.push(parse_sizes(part).map_err(hint)?);
        }
    }
    Ok(SizeList(all))
}

fn parse_burst(text: &str) -> Result<Duration, String> {
    let span = parse_duration(text).map_err(|error| error.to_string())?;
    let longest = Duration::from_secs(10);
    (span <= longest).then_some(span).ok_or_else(|| "choose at most 10s".to_owned())
}

const EXAMPLES: &str = "\
Examples:
  linerate dut --port-a eth1 --port-b eth2                      a bridge, all sizes of RFC 2544
  linerate dut --port-a eth1 --port-b eth2 --gateway 198.18.0.254 --sizes 64,imix     a router
  linerate dut --port-a eth1 --port-b eth2 --direction all --gateway 10.0.0.254 --gateway-b 10.0.1.254
  linerate dut --port-a eth1 --port-b eth2 --reset 'ssh router reboot; sleep 60' --repeat 3 --json

Without --gateway frames go to the Ethernet address of the other port: what a bridge forwards. A router
needs an address on each port, which it finds by ARP; a router with NAT is measured from its inside.
A result is INVALID where the tester is the limit or was disturbed: keep the CPUs of --cpus free.
Exit codes: 0 done; 1 failed; 2 usage; 3 a result is INVALID; 130 interrupted, with what is known";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_lists_of_bytes_and_mixes() {
        let sizes = |text: &str| parse_list(text).map(|list| list.0.len());
        assert_eq!(sizes("rfc2544"), Ok(8));
        assert_eq!(sizes("64, imix"), Ok(2));
        assert!(sizes("64,63").expect_err("too small").starts_with("'63' is no size: "));
        assert!(sizes("").is_err());
    }
}
