//! Flags of `serve`.

use std::net::IpAddr;

use clap::Args;
use clap::builder::BoolishValueParser;

use super::test::FamilyFlags;

/// Answers linerate and iperf3 clients, TCP and UDP, on one port.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ServeFlags {
    /// Port for TCP and UDP; 0: any free one
    #[arg(short, long, default_value_t = protocol_port(), env = "LINERATE_PORT")]
    pub(crate) port: u16,
    /// Address to listen on [default: all]
    #[arg(short = 'B', long, env = "LINERATE_BIND", value_name = "ADDRESS")]
    pub(crate) bind: Option<IpAddr>,
    #[command(flatten)]
    pub(crate) family: FamilyFlags,
    /// Stop after one test
    #[arg(short = '1', long, env = "LINERATE_ONE_OFF", value_parser = BoolishValueParser::new())]
    pub(crate) one_off: bool,
    /// CPUs to pin the workers to, e.g. 0,2-3
    #[arg(long, env = "LINERATE_CPUS", value_name = "LIST", value_parser = super::test::usable_cpus)]
    pub(crate) cpus: Option<super::test::CpuList>,
    /// Print one JSON object per line for each event
    #[arg(long, conflicts_with = "quiet", env = "LINERATE_JSON", value_parser = BoolishValueParser::new())]
    pub(crate) json: bool,
    /// Print errors only
    #[arg(short, long, env = "LINERATE_QUIET", value_parser = BoolishValueParser::new())]
    pub(crate) quiet: bool,
}

const fn protocol_port() -> u16 {
    session::DEFAULT_PORT
}

const EXAMPLES: &str = "\
Examples:
  linerate serve
  linerate serve --port 5300 --bind 10.0.0.2
  linerate serve --one-off --json     for scripts";
