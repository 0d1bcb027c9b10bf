//! Flags of `calc`.

use analysis::calc::{GSO_LEGACY_MAX_SIZE, Headers, Layer, MAX_SKB_FRAGS, Mtu};
use analysis::calc::{Network, Transport, Tunnel};
use clap::{Args, Subcommand, ValueEnum};
use measurement::{BitRate, ByteSize};

use super::points::parse_points;

/// Calculates what an MTU, headers and pages come to at a rate. Nothing is measured.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CalcFlags {
    #[command(subcommand)]
    pub(crate) what: Calculation,
    /// Print it as JSON: an array with an object for each line
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print it as CSV
    #[arg(long, global = true, conflicts_with = "json")]
    pub(crate) csv: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Calculation {
    /// How much of the largest super-packet of segmentation offload whole segments fill
    #[command(after_help = TSO)]
    Tso(TsoFlags),
    /// Packets and pages in a second, and the time for each packet
    #[command(after_help = PACKETS)]
    Packets(PacketsFlags),
    /// Page fragments of a socket buffer (skb)
    #[command(after_help = FRAGMENTS)]
    Fragments(FragmentsFlags),
    /// The most payload that a link carries
    #[command(after_help = GOODPUT)]
    Goodput(GoodputFlags),
}

#[derive(Debug, Args)]
pub(crate) struct TsoFlags {
    /// MTUs in bytes: a list, or a range that doubles
    #[arg(long, default_value = "512,1280,1500,3000,4096,8000,9000", value_name = "LIST", value_parser = mtus)]
    pub(crate) mtu: Mtus,
    /// gso_max_size of the device in bytes (ip -d link); more than 65536 is BIG TCP
    #[arg(long, default_value_t = DEFAULT_GSO, value_name = "BYTES")]
    pub(crate) gso_max_size: u64,
    /// Headers of each packet, as --headers of linerate calc goodput
    #[arg(long, default_value = "tcp", value_name = "LIST", value_parser = headers)]
    pub(crate) headers: Headers,
}

#[derive(Debug, Args)]
pub(crate) struct PacketsFlags {
    /// Rate in bit/s, e.g. 400G
    #[arg(default_value = "100G")]
    pub(crate) rate: BitRate,
    /// MTUs in bytes: a list, or a range that doubles
    #[arg(long, default_value = "1500,4096,9000", value_name = "LIST", value_parser = mtus)]
    pub(crate) mtu: Mtus,
    /// The MTU counts the Ethernet header, as the L2 MTU of NICs does
    #[arg(long)]
    pub(crate) l2: bool,
    /// What the rate counts
    #[arg(long, value_enum, default_value_t, value_name = "LAYER")]
    pub(crate) layer: LayerFlag,
    /// Size of a page
    #[arg(long, default_value = "4K", value_name = "SIZE")]
    pub(crate) page: ByteSize,
    /// Packets that share a page; 2: split pages
    #[arg(long, default_value_t = 1, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) per_page: u32,
}

#[derive(Debug, Args)]
pub(crate) struct FragmentsFlags {
    /// Data of the skb
    #[arg(default_value = "64K")]
    pub(crate) size: ByteSize,
    /// Sizes of pages, of huge pages, or of what the kernel allocates for a socket at a time
    #[arg(long, default_value = "4K,16K,32K,64K,2M", value_name = "LIST", value_delimiter = ',')]
    pub(crate) page: Vec<ByteSize>,
    /// Fragments that an skb has at most (CONFIG_MAX_SKB_FRAGS)
    #[arg(long, default_value_t = MAX_SKB_FRAGS, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_frags: u32,
}

#[derive(Debug, Args)]
pub(crate) struct GoodputFlags {
    /// Speed of the link in bit/s, e.g. 100G
    #[arg(default_value = "1G")]
    pub(crate) rate: BitRate,
    /// MTUs in bytes: a list, or a range that doubles
    #[arg(long, default_value = "1500,9000", value_name = "LIST", value_parser = mtus)]
    pub(crate) mtu: Mtus,
    /// Headers of each packet, with commas between them: vlan, qinq, vxlan, wireguard, ipsec,
    /// outer-ipv6, ipv4, ipv6, tcp (with timestamps), no-timestamps, udp; may be given several times
    /// [default: the usual ones]
    #[arg(long, value_name = "LIST", value_parser = headers)]
    pub(crate) headers: Vec<Headers>,
}

/// Values of an option that takes a list.
#[derive(Clone, Debug)]
pub(crate) struct Mtus(pub(crate) Vec<u32>);

/// Layer whose bytes a rate counts.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum LayerFlag {
    /// Frames, preambles and gaps, as the speed of a link does
    #[default]
    Line,
    /// Frames with their check sequence
    Frames,
    /// IP packets
    Packets,
}

impl From<LayerFlag> for Layer {
    fn from(flag: LayerFlag) -> Self {
        match flag {
            LayerFlag::Line => Self::Line,
            LayerFlag::Frames => Self::Frames,
            LayerFlag::Packets => Self::Packets,
        }
    }
}

fn mtus(text: &str) -> Result<Mtus, String> {
    let read = |text: &str| {
        let mtu = text.parse::<Mtu>().map_err(|error| error.to_string())?;
        Ok(u64::from(mtu.bytes()))
    };
    let points = parse_points(text, read)?;
    Ok(Mtus(points.into_iter().filter_map(|mtu| u32::try_from(mtu).ok()).collect()))
}

/// Reads `vlan,vxlan,ipv6,udp`, in any order.
fn headers(text: &str) -> Result<Headers, String> {
    let mut headers = Headers::default();
    for word in text.split(',').map(str::trim) {
        match word {
            "tcp" => headers.transport = Transport::Tcp,
            "no-timestamps" => headers.transport = Transport::TcpWithoutTimestamps,
            "udp" => headers.transport = Transport::Udp,
            "ipv4" => headers.network = Network::Ipv4,
            "ipv6" => headers.network = Network::Ipv6,
            "outer-ipv6" => headers.outer = Network::Ipv6,
            "vlan" => headers.vlan_tags = 1,
            "qinq" => headers.vlan_tags = 2,
            word => headers.tunnel = Some(tunnel(word)?),
        }
    }
    if headers.outer == Network::Ipv6 && headers.tunnel.is_none() {
        return Err("outer-ipv6 is for a tunnel: add vxlan, wireguard or ipsec".to_owned());
    }
    Ok(headers)
}

fn tunnel(word: &str) -> Result<Tunnel, String> {
    let all = [Tunnel::Vxlan, Tunnel::WireGuard, Tunnel::Esp];
    all.into_iter().find(|tunnel| tunnel.name() == word).ok_or_else(|| {
        format!("there is no header '{word}': type e.g. vlan, vxlan, ipv6, udp or no-timestamps")
    })
}

const DEFAULT_GSO: u64 = GSO_LEGACY_MAX_SIZE as u64;

const EXAMPLES: &str = "\
Examples:
  linerate calc tso --mtu 1500,8000,9000
  linerate calc packets 400G --mtu 4096 --l2
  linerate calc fragments 64K --page 4K,2M
  linerate calc goodput 100G --mtu 1500,9000 --headers vlan,ipv6 --headers vxlan";

const TSO: &str = "\
Examples:
  linerate calc tso
  linerate calc tso --mtu 8000 --gso-max-size 65535
  linerate calc tso --mtu 9000 --gso-max-size 524280 --headers ipv6    BIG TCP
  linerate calc tso --mtu 512..9000 --csv

Linux leaves 321 bytes of gso_max_size for headers. Of connections that are slow or have just begun
super-packets are shorter.";

const PACKETS: &str = "\
Examples:
  linerate calc packets 400G --mtu 4096 --l2
  linerate calc packets 400G --mtu 1500 --per-page 2 --layer frames    split pages
  linerate calc packets 100G --mtu 512..9000 --json";

const FRAGMENTS: &str = "\
Examples:
  linerate calc fragments
  linerate calc fragments 64K --page 4K,2M
  linerate calc fragments 512K --page 4K --max-frags 45                BIG TCP";

const GOODPUT: &str = "\
Examples:
  linerate calc goodput 1G
  linerate calc goodput 100G --mtu 1500..9000 --headers tcp
  linerate calc goodput 10G --headers wireguard,outer-ipv6 --headers ipsec,udp";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_in_any_order() {
        let read = headers("udp,vxlan,qinq,ipv6").expect("headers");
        assert_eq!(read.to_string(), "vlan+vlan+ipv4+vxlan+ipv6+udp");
        assert_eq!(headers("tcp").map(|headers| headers.to_string()), Ok("ipv4+tcp".to_owned()));
        assert!(headers("gre").is_err_and(|error| error.contains("no header 'gre'")));
        assert!(headers("outer-ipv6").is_err() && headers("").is_err());
    }
}
