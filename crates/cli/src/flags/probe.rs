//! Flags of `probe`.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;
use clap::builder::BoolishValueParser;
use measurement::BitRate;
use measurement::units::parse_duration;

use super::serve::endpoint;
use super::server::Target;

/// Answers monitoring systems such as Prometheus: GET /probe?target=HOST runs a short test against
/// a host of --allow, and the answer has its result. There is no encryption and no authentication.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ProbeFlags {
    /// Host that may be tested, and its port if it is not 5201; several with commas between them,
    /// or --allow again
    #[arg(long, required = true, env = "LINERATE_ALLOW", value_name = "HOST[:PORT]", value_delimiter = ',', value_parser = Allowed::read)]
    pub(crate) allow: Vec<Allowed>,
    /// Address to serve HTTP on
    #[arg(long, default_value = "127.0.0.1:9202", env = "LINERATE_LISTEN", value_name = "ADDRESS:PORT", value_parser = endpoint)]
    pub(crate) listen: SocketAddr,
    /// Longest test that a request may ask for
    #[arg(long, default_value = "10s", env = "LINERATE_MAX_TIME", value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) max_time: Duration,
    /// Highest rate of a test [default: none over TCP, 1 Mbit/s over UDP unless asked for]
    #[arg(long, env = "LINERATE_MAX_RATE", value_name = "RATE")]
    pub(crate) max_rate: Option<BitRate>,
    /// Tests at one time, each against another host
    #[arg(long, default_value_t = 2, env = "LINERATE_MAX_TESTS", value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=16))]
    pub(crate) max_tests: u32,
    /// Print errors only
    #[arg(short, long, env = "LINERATE_QUIET", value_parser = BoolishValueParser::new())]
    pub(crate) quiet: bool,
}

/// A host that may be tested, with its port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Allowed {
    /// Name or address, in small letters.
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Allowed {
    /// Reads `name`, `name:port`, an address, or `[address]:port`.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let (host, port) = Target::read(text)?.host_and_port();
        Ok(Self { host: host.to_lowercase(), port })
    }
}

const EXAMPLES: &str = "\
Examples:
  linerate probe --allow 10.0.0.2
  linerate probe --allow 10.0.0.2,router:5300 --listen [::1]:9202 --max-rate 100M
  curl 'http://127.0.0.1:9202/probe?target=10.0.0.2&row=tcp-receive&time=2s'

Parameters of /probe: target; row: tcp-send, tcp-receive, udp-send, udp-receive, tcp-latency (the
default) or udp-latency; time (1s); rate. docs/exports.md has the configuration of Prometheus.";
