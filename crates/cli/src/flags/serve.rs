//! Flags of `serve`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::BoolishValueParser;
use measurement::units::parse_duration;
use measurement::{BitRate, ByteSize};

use super::profile::ProfileFlag;
use super::serve_access::AccessFlags;
use super::serve_status::ServeAction;
use super::serve_tune::TuneServeFlags;
use super::server::FamilyFlags;

/// Answers linerate and iperf3 clients, TCP and UDP, on one port.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct ServeFlags {
    #[command(subcommand)]
    pub(crate) action: Option<ServeAction>,
    /// Port for TCP and UDP; 0: any free one
    #[arg(short, long, default_value_t = protocol_port(), env = "LINERATE_PORT")]
    pub(crate) port: u16,
    /// Address to listen on [default: all]
    #[arg(short = 'B', long, env = "LINERATE_BIND", value_name = "ADDRESS")]
    pub(crate) bind: Option<IpAddr>,
    #[command(flatten)]
    pub(crate) family: FamilyFlags,
    /// CPUs to pin the workers (threads that run streams) to, e.g. 0,2-3; cores: one of each
    /// core; siblings: all of one core; away-from:eth0: those that serve no interrupts of that
    /// interface
    #[arg(long, env = "LINERATE_CPUS", value_name = "LIST", value_parser = super::cpus::usable_cpus)]
    pub(crate) cpus: Option<super::cpus::CpuList>,

    #[command(flatten)]
    pub(crate) order: OrderFlags,
    #[command(flatten)]
    pub(crate) limits: LimitFlags,
    #[command(flatten)]
    pub(crate) access: AccessFlags,
    #[command(flatten)]
    pub(crate) tuning: TuneServeFlags,
    #[command(flatten)]
    pub(crate) service: ServiceFlags,
    #[command(flatten)]
    pub(crate) log: LogFlags,
}

/// Order in which clients are served.
#[derive(Debug, Args)]
#[command(next_help_heading = "Several clients")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct OrderFlags {
    /// Tests at one time [default: 256]
    #[arg(long, env = "LINERATE_MAX_SESSIONS", value_name = "COUNT", value_parser = at_least_one())]
    pub(crate) max_sessions: Option<u32>,
    /// Run tests one after another, or --max-sessions at a time; further clients wait
    #[arg(long, env = "LINERATE_QUEUE", value_parser = BoolishValueParser::new())]
    pub(crate) queue: bool,
    /// One test at a time as iperf3's server: further clients are told that it is busy
    #[arg(long, conflicts_with_all = ["queue", "max_sessions"], env = "LINERATE_ONE_AT_A_TIME", value_parser = BoolishValueParser::new())]
    pub(crate) one_at_a_time: bool,
    /// End a test that moves less than this when another client needs its place; 0: never
    #[arg(long, default_value = "10K", env = "LINERATE_YIELD_BELOW", value_name = "RATE")]
    pub(crate) yield_below: BitRate,
    /// End a test that has run so long when another client needs its place; 0: never
    #[arg(long, default_value = "10m", env = "LINERATE_YIELD_AFTER", value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) yield_after: Duration,
    /// Tell a client how many others there were, but not who
    #[arg(long, env = "LINERATE_HIDE_PEERS", value_parser = BoolishValueParser::new())]
    pub(crate) hide_peers: bool,
    /// Report no counters of this host to clients: of its CPUs, its sockets, and the interface that
    /// carries their test
    #[arg(long, env = "LINERATE_NO_EVIDENCE", value_parser = BoolishValueParser::new())]
    pub(crate) no_evidence: bool,
    /// CPU profile rate in Hz: sample what each CPU does during a test, for its client; 0: never.
    /// One test at a time; it takes root or kernel.perf_event_paranoid=1
    #[arg(long, default_value_t = ProfileFlag::default(), env = "LINERATE_PROFILE", value_name = "HERTZ")]
    pub(crate) profile: ProfileFlag,
    /// Only watch this host for `linerate test --observe`, e.g. on a router that the test goes
    /// through: answer no tests, tell all of what it counts
    #[arg(long, conflicts_with_all = ["no_evidence", "one_off"], env = "LINERATE_ONLY_OBSERVE", value_parser = BoolishValueParser::new())]
    pub(crate) observe: bool,
    /// Stop after one test, which is one row of `linerate test`; meanwhile others are told "busy"
    #[arg(short = '1', long, env = "LINERATE_ONE_OFF", value_parser = BoolishValueParser::new())]
    pub(crate) one_off: bool,
}

/// Limits of one client's test.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitFlags {
    /// Tests of one address (IPv6: one /64) at one time
    #[arg(long = "max-per-address", default_value_t = 100, env = "LINERATE_MAX_PER_ADDRESS", value_name = "COUNT", value_parser = at_least_one())]
    pub(crate) per_address: u32,
    /// Tests that one address may begin in a second
    #[arg(long = "max-starts", default_value_t = 500, env = "LINERATE_MAX_STARTS", value_name = "COUNT", value_parser = at_least_one())]
    pub(crate) starts: u32,
    /// Streams of one test, both directions together
    #[arg(long = "max-streams", env = "LINERATE_MAX_STREAMS", value_name = "COUNT", value_parser = at_least_one())]
    pub(crate) streams: Option<u32>,
    /// Rate of one test, all its streams together, averaged over 5 s, e.g. 1G
    #[arg(long = "max-rate", env = "LINERATE_MAX_RATE", value_name = "RATE")]
    pub(crate) rate: Option<BitRate>,
    /// Bytes of one test, e.g. 10G
    #[arg(long = "max-bytes", env = "LINERATE_MAX_BYTES", value_name = "SIZE")]
    pub(crate) bytes: Option<ByteSize>,
    /// Duration of one test
    #[arg(long = "max-time", env = "LINERATE_MAX_TIME", value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) time: Option<Duration>,
    /// Memory for the payload of all tests together [default: half of what is free]
    #[arg(long = "max-memory", env = "LINERATE_MAX_MEMORY", value_name = "SIZE")]
    pub(crate) memory: Option<ByteSize>,
}

/// How it lives among other services.
#[derive(Debug, Args)]
#[command(next_help_heading = "Service")]
pub(crate) struct ServiceFlags {
    /// Serve OpenMetrics by HTTP on this address, e.g. 127.0.0.1:9201
    #[arg(long, env = "LINERATE_METRICS", value_name = "ADDRESS:PORT", value_parser = endpoint)]
    pub(crate) metrics: Option<SocketAddr>,
    /// File that holds the address while the server listens
    #[arg(long, env = "LINERATE_READY_FILE", value_name = "FILE")]
    pub(crate) ready_file: Option<PathBuf>,
    /// User to become after binding, e.g. nobody; root: none [default: of root one of its own,
    /// unless there is a --ready-file]
    #[arg(long, env = "LINERATE_USER", value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// How long running tests may go on after Ctrl-C or SIGTERM; a second signal ends them
    #[arg(long, default_value = "60s", env = "LINERATE_STOP_TIMEOUT", value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) stop_timeout: Duration,
}

/// Output of the server.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct LogFlags {
    /// Print one JSON object per line for each event
    #[arg(long, conflicts_with = "quiet", env = "LINERATE_JSON", value_parser = BoolishValueParser::new())]
    pub(crate) json: bool,
    /// Print errors only
    #[arg(short, long, env = "LINERATE_QUIET", value_parser = BoolishValueParser::new())]
    pub(crate) quiet: bool,
    /// Log the start of each test too
    #[arg(short, long, conflicts_with = "quiet", env = "LINERATE_VERBOSE", value_parser = BoolishValueParser::new())]
    pub(crate) verbose: bool,
}

const fn protocol_port() -> u16 {
    session::DEFAULT_PORT
}

/// An address with a port, to listen on.
pub(super) fn endpoint(text: &str) -> Result<SocketAddr, String> {
    let hint = "give address and port, e.g. 127.0.0.1:9201 or [::1]:9201; names are not looked up";
    text.parse().map_err(|_| hint.to_owned())
}

fn at_least_one() -> impl clap::builder::TypedValueParser<Value = u32> {
    clap::value_parser!(u32).range(1..)
}

const EXAMPLES: &str = "\
Examples:
  linerate serve                                      all clients at once
  linerate serve --port 5300 --bind 10.0.0.2 --queue  one after another
  linerate serve --max-time 1m --max-rate 1G --metrics 127.0.0.1:9201
  linerate serve --allow 10.0.0.0/8 --max-total-rate 10G,10.9.0.0/16=1G
  linerate serve --one-off --json                     for scripts
  linerate serve status                               tests that run now
  sudo linerate serve --allow-tune --tune-key KEY     linerate tune elsewhere may tune this host";
