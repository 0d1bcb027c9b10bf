//! Flags of `packets`, and those that `dut` shares with it.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{Args, ValueEnum};
use packets::{FrameSizes, MacAddress};

use super::format::FormatFlags;
use super::values::parse_time_within;

/// Sends frames below the sockets, by AF_XDP or AF_PACKET, and counts what arrives: how many packets
/// a link, a driver or a forwarder carries in a second.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct FramesFlags {
    /// Interface that sends
    #[arg(long, env = "LINERATE_FROM", value_name = "IF")]
    pub(crate) from: String,
    /// Interface of this host that receives, or an address of another host, which nothing counts at
    #[arg(long, env = "LINERATE_TO", value_name = "IF|ADDRESS")]
    pub(crate) to: String,
    /// Duration
    #[arg(short, long, default_value = "2s", env = "LINERATE_TIME", value_name = "DURATION", value_parser = parse_time)]
    pub(crate) time: Duration,
    /// Frames in a second, e.g. 100k [default: as many as can be]
    #[arg(long, env = "LINERATE_PPS", value_name = "COUNT", value_parser = parse_pps)]
    pub(crate) pps: Option<f64>,
    /// Frames in all [default: no limit]
    #[arg(short, long, env = "LINERATE_NUMBER", value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) number: Option<u64>,
    /// Size of a frame with its check sequence, or imix
    #[arg(long, default_value = "64", env = "LINERATE_SIZE", value_name = "BYTES|imix", value_parser = parse_sizes)]
    pub(crate) size: FrameSizes,
    /// Count by a program of XDP that drops: faster, without flows, order and latency
    #[arg(long, env = "LINERATE_COUNT_ONLY", value_parser = BoolishValueParser::new())]
    pub(crate) count_only: bool,
    #[command(flatten)]
    pub(crate) link: LinkFlags,
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    /// Write the record as JSON to a file too, packed if its name ends in .gz
    #[arg(short, long, env = "LINERATE_OUTPUT", value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// No progress
    #[arg(short, long, env = "LINERATE_QUIET", value_parser = BoolishValueParser::new())]
    pub(crate) quiet: bool,
}

/// What frames look like, and what sends them.
#[derive(Debug, Args)]
#[command(next_help_heading = "Frames")]
pub(crate) struct LinkFlags {
    /// Flows, which differ in the source port
    #[arg(long, default_value_t = 1, env = "LINERATE_FLOWS", value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub(crate) flows: u16,
    /// Source addresses over which flows are spread, from --source on
    #[arg(long, default_value_t = 1, env = "LINERATE_ADDRESSES", value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub(crate) addresses: u16,
    /// VLAN identifier
    #[arg(long, env = "LINERATE_VLAN", value_name = "ID", value_parser = clap::value_parser!(u16).range(1..=4094))]
    pub(crate) vlan: Option<u16>,
    /// Source address [default: that of the interface that sends]
    #[arg(long, env = "LINERATE_SOURCE", value_name = "ADDRESS")]
    pub(crate) source: Option<IpAddr>,
    /// Router that frames go to, which is asked for by ARP [default: none, or by the routes]
    #[arg(long, env = "LINERATE_GATEWAY", value_name = "ADDRESS", conflicts_with = "mac")]
    pub(crate) gateway: Option<IpAddr>,
    /// Ethernet address that frames go to
    #[arg(long, env = "LINERATE_MAC", value_name = "MAC", value_parser = parse_mac)]
    pub(crate) mac: Option<MacAddress>,
    /// What sends
    #[arg(long, default_value = "best", env = "LINERATE_ENGINE", value_name = "ENGINE")]
    pub(crate) engine: Engine,
    /// Send queues that are used
    #[arg(long, default_value_t = 1, env = "LINERATE_QUEUES", value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) queues: u32,
    /// CPUs of the sender and of the receiver, e.g. 0,1 [default: the first two]
    #[arg(long, env = "LINERATE_CPUS", value_name = "CPU,CPU", value_parser = parse_cpus)]
    pub(crate) cpus: Option<(usize, usize)>,
    /// Permit an interface by which a default route leaves: the link may be in use by others
    #[arg(long, env = "LINERATE_I_OWN_THIS_LINK", value_parser = BoolishValueParser::new())]
    pub(crate) i_own_this_link: bool,
}

/// As without flags.
impl Default for LinkFlags {
    fn default() -> Self {
        Self {
            flows: 1,
            addresses: 1,
            vlan: None,
            source: None,
            gateway: None,
            mac: None,
            engine: Engine::Best,
            queues: 1,
            cpus: None,
            i_own_this_link: false,
        }
    }
}

/// What sends and receives frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    /// AF_XDP, AF_PACKET where that is refused
    Best,
    /// XDP program that makes the frames in the kernel (Linux 5.18): the most frames, in bursts
    XdpLive,
    /// AF_XDP with copies
    AfXdp,
    /// AF_PACKET past the queueing discipline
    AfPacket,
}

pub(super) fn parse_sizes(text: &str) -> Result<FrameSizes, String> {
    if text == "imix" {
        return Ok(FrameSizes::imix());
    }
    let size = text.parse().ok().filter(|size| (SMALLEST..=LARGEST).contains(size));
    let size = size.map(FrameSizes::one);
    size.ok_or_else(|| format!("choose {SMALLEST} to {LARGEST} bytes, or imix"))
}

/// An address of one host: frames to a group would reach all of the link.
fn parse_mac(text: &str) -> Result<MacAddress, String> {
    let mac: MacAddress = text.parse()?;
    let is_of_one = mac.0[0] & 1 == 0 && mac.0 != [0; 6];
    if is_of_one { Ok(mac) } else { Err("give the address of one interface".to_owned()) }
}

fn parse_pps(text: &str) -> Result<f64, String> {
    let (number, factor) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1e3),
        Some((at, 'M')) => (&text[..at], 1e6),
        _ => (text, 1.0),
    };
    let rate = number.parse::<f64>().ok().map(|number| number * factor);
    let rate = rate.filter(|rate| (1.0..=1e9).contains(rate));
    rate.ok_or_else(|| "choose a number of frames in a second, e.g. 50k or 1.5M".to_owned())
}

fn parse_time(text: &str) -> Result<Duration, String> {
    parse_time_within(text, Duration::from_millis(10), Duration::from_secs(86_400), "10ms and 24h")
}

fn parse_cpus(text: &str) -> Result<(usize, usize), String> {
    let pair = text.split_once(',').filter(|(_, other)| !other.contains(','));
    let (one, other) = pair.ok_or("two CPUs, with a comma between them")?;
    let cpus = linux::host::allowed_cpus().map_err(|error| error.to_string())?;
    let cpu = |text: &str| text.trim().parse().ok().filter(|cpu| cpus.contains(cpu));
    let pair = cpu(one).zip(cpu(other));
    pair.ok_or_else(|| format!("choose of the CPUs of this process: {cpus:?}"))
}

/// Bytes with the frame check sequence.
const SMALLEST: usize = 64;
const LARGEST: usize = 9018;

const EXAMPLES: &str = "\
Examples:
  linerate packets --from veth0 --to veth1                   64-byte frames, as many as can be
  linerate packets --from veth0 --to veth1 --count-only      the receiver counts and drops in XDP
  linerate packets --from eth1 --to eth2 --size imix --flows 64
  linerate packets --from eth1 --to eth2 --pps 100k --json   latency at a rate, for programs
  linerate packets --from eth1 --to 198.18.1.2 --gateway 198.18.0.254 -t 10s

Sizes are with the frame check sequence (RFC 2544); rates on the wire with preamble and gap too.
It needs root, or CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF. Frames go to an interface of this host, or
to an Ethernet address that ARP or --mac told. Lost frames are told by the counters that know them.
Exit codes: 0 done; 1 failed; 2 usage; 130 interrupted, with what is known until then";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_frames_in_a_second() {
        assert_eq!(parse_pps("100k"), Ok(100_000.0));
        assert_eq!(parse_pps("1.5M"), Ok(1_500_000.0));
        for wrong in ["", "k", "0", "-1", "nan", "1e12"] {
            assert!(parse_pps(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn frames_go_to_one_interface_from_a_pair_of_cpus() {
        assert!(parse_mac("02:00:00:00:00:01").is_ok());
        for wrong in ["00:00:00:00:00:00", "01:00:5e:00:00:01", "ff:ff:ff:ff:ff:ff", "02:00"] {
            assert!(parse_mac(wrong).is_err(), "{wrong}");
        }
        for wrong in ["0", "0,0,0"] {
            assert_eq!(parse_cpus(wrong), Err("two CPUs, with a comma between them".to_owned()));
        }
    }

    #[test]
    fn sizes_are_those_of_ethernet() {
        assert_eq!(parse_sizes("1518"), Ok(FrameSizes::one(1518)));
        assert_eq!(parse_sizes("imix"), Ok(FrameSizes::imix()));
        assert!(parse_sizes("63").is_err() && parse_sizes("9019").is_err());
    }
}
