//! Flags of `latency`.

use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, ValueEnum};
use measurement::ByteSize;
use measurement::exchange::MOST_DEPTH;
use measurement::units::parse_duration;

use super::cpus::{CpuList, usable_cpus};
use super::packets::PacketFlags;
use super::server::ServerFlags;
use super::test::OutputFlags;
use super::values::{parse_pause, parse_pause_of_probes, parse_streams};

/// Measures how long answers take: over TCP, over UDP, with a connection for each, and what
/// load does to it. The server has to be a linerate.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LatencyFlags {
    #[command(flatten)]
    pub(crate) server: ServerFlags,

    /// Which rows, with commas between them [default: all]
    #[arg(long, env = "LINERATE_ONLY", value_name = "ROWS", value_delimiter = ',')]
    pub(crate) only: Vec<LatencyRow>,
    /// Duration of each row
    #[arg(short, long, default_value = "3s", env = "LINERATE_TIME", value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) time: Duration,
    /// TCP congestion control at both ends, e.g. cubic
    #[arg(short = 'C', long, env = "LINERATE_CONGESTION", value_name = "NAME")]
    pub(crate) congestion: Option<String>,
    /// Omit the start of each row, so long, from the result
    #[arg(short = 'O', long, default_value = "0s", env = "LINERATE_OMIT", value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) omit: Duration,

    #[command(flatten)]
    pub(crate) exchange: ExchangeFlags,
    #[command(flatten)]
    pub(crate) packets: PacketFlags,
    #[command(flatten)]
    pub(crate) output: OutputFlags,
}

/// Requests and responses.
#[derive(Debug, Args)]
#[command(next_help_heading = "Requests")]
pub(crate) struct ExchangeFlags {
    /// Bytes of a request; over UDP 16 at least
    #[arg(long, default_value = "64", env = "LINERATE_REQUEST", value_name = "SIZE")]
    pub(crate) request: ByteSize,
    /// Bytes of a response; over UDP 16 at least
    #[arg(long, default_value = "64", env = "LINERATE_RESPONSE", value_name = "SIZE")]
    pub(crate) response: ByteSize,
    /// Streams that ask at the same time
    #[arg(short = 'P', long, default_value_t = 1, env = "LINERATE_STREAMS", value_name = "COUNT", value_parser = parse_streams)]
    pub(crate) streams: u32,
    /// Requests of each stream that may wait for their responses [default: 1, with --every 1024]
    #[arg(long, env = "LINERATE_DEPTH", value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=i64::from(MOST_DEPTH)))]
    pub(crate) depth: Option<u16>,
    /// Time from one request to the next [default: the next goes when there is a response]
    #[arg(long, env = "LINERATE_EVERY", value_name = "DURATION", value_parser = parse_pause)]
    pub(crate) every: Option<Duration>,
    /// Time from one probe to the next in the rows with load
    #[arg(long, default_value = "10ms", env = "LINERATE_PROBE_EVERY", value_name = "DURATION", value_parser = parse_pause_of_probes)]
    pub(crate) probe_every: Duration,
    /// Both ends busy-poll, with a CPU each: no wake-up latency
    #[arg(long, env = "LINERATE_BUSY", value_parser = BoolishValueParser::new())]
    pub(crate) busy: bool,
    /// CPUs to pin the workers to, as in linerate test
    #[arg(long, env = "LINERATE_CPUS", value_name = "LIST", value_parser = usable_cpus)]
    pub(crate) cpus: Option<CpuList>,
}

/// One kind of row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LatencyRow {
    /// Requests over a TCP connection that stays open
    Tcp,
    /// Requests over UDP
    Udp,
    /// Requests with a TCP connection for each
    Connect,
    /// Probes before and during TCP at full rate, each way
    Load,
}

impl LatencyFlags {
    /// Forgets of the environment what means nothing for these rows.
    pub(super) fn settle(mut self, matches: &ArgMatches) -> Result<Self, String> {
        if self.has_no_requests() {
            let from_environment =
                |id: &str| matches.value_source(id) == Some(ValueSource::EnvVariable);
            let exchange = &mut self.exchange;
            exchange.busy &= !from_environment("busy");
            exchange.every = exchange.every.filter(|_| !from_environment("every"));
            exchange.depth = exchange.depth.filter(|_| !from_environment("depth"));
        }
        self.server.settle(matches)?;
        Ok(self)
    }

    /// Whether all rows are of load.
    pub(crate) fn has_no_requests(&self) -> bool {
        !self.only.is_empty() && self.only.iter().all(|row| *row == LatencyRow::Load)
    }

    /// Whether such rows are wanted.
    pub(crate) fn wants(&self, row: LatencyRow) -> bool {
        self.only.is_empty() || self.only.contains(&row)
    }
}

const EXAMPLES: &str = "\
Examples:
  linerate latency 10.0.0.2                         all rows
  linerate latency 10.0.0.2 --only udp,load         over UDP, and what load does to it
  linerate latency 10.0.0.2 --only tcp --request 1 --response 1K -P 8
  linerate latency 10.0.0.2 --only tcp --busy       without wake-up latency
  linerate latency 10.0.0.2 --only udp --every 1ms  a thousand requests a second, come what may
  linerate latency 10.0.0.2 --format table          with rates, minimum and mean

Bufferbloat is the median round trip of UDP probes under load less that before the load; the grades
are those of DSLReports. RPM (own probes) follows draft-ietf-ippm-responsiveness: the mean of 60 s /
round trip of the UDP probe (separate connection) and 60 s / round trip that the kernel estimates
of the TCP connection with the load.";
