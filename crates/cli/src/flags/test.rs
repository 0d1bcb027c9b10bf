//! Flags of `test`.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{BoolishValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args};
use measurement::units::{parse_count, parse_duration};
use measurement::{BitRate, ByteSize, Pacing, Transport};

use super::cpus::{CpuList, usable_cpus};
use super::engines::{AUTO, engine_names, is_for};
use super::format::FormatFlags;
use super::packets::PacketFlags;
use super::profile::ProfileFlag;
use super::requirements::RequirementFlags;
use super::server::ServerFlags;
use super::store::StoreFlags;
use super::values::{parse_pause_of_probes, parse_streams, parse_tag, parse_unit};
use crate::exit::UsageError;
use crate::output::check_writable;
use crate::progress::Detail;
use crate::results::{Finish, monitor};
use campaign::{Monitor, ObservedHost, Requirements};
use report::export::Export;
use report::rates::UnitFormat;

/// Measures TCP and UDP, send and receive: four rows, of which the options choose.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_override_self = true)]
pub(crate) struct TestFlags {
    #[command(flatten)]
    pub(crate) server: ServerFlags,

    #[command(flatten)]
    pub(crate) rows: RowFlags,
    #[command(flatten)]
    pub(crate) amount: AmountFlags,
    #[command(flatten)]
    pub(crate) stream: StreamFlags,
    #[command(flatten)]
    pub(crate) packets: PacketFlags,
    #[command(flatten)]
    pub(crate) output: OutputFlags,
    /// Unit of the rates in the table: k, m, g, t for kbit/s to Tbit/s; K, M, G, T for KiB/s to
    /// TiB/s [default: as the size suggests]
    #[arg(short = 'f', long, env = "LINERATE_UNIT", value_name = "LETTER", help_heading = "Output", value_parser = parse_unit)]
    pub(crate) unit: Option<UnitFormat>,
}

/// Which rows.
#[derive(Debug, Args)]
#[command(next_help_heading = "Which rows")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct RowFlags {
    /// TCP only
    #[arg(long, conflicts_with = "udp", env = "LINERATE_TCP", value_parser = BoolishValueParser::new())]
    pub(crate) tcp: bool,
    /// UDP only
    #[arg(short, long, env = "LINERATE_UDP", value_parser = BoolishValueParser::new())]
    pub(crate) udp: bool,
    /// From here to the server only
    #[arg(long, conflicts_with = "receive", env = "LINERATE_SEND", value_parser = BoolishValueParser::new())]
    pub(crate) send: bool,
    /// From the server to here only
    #[arg(short = 'R', long, env = "LINERATE_RECEIVE", value_parser = BoolishValueParser::new())]
    pub(crate) receive: bool,
    /// Both ways at the same time
    #[arg(long, conflicts_with_all = ["send", "receive"], env = "LINERATE_BIDIR", value_parser = BoolishValueParser::new())]
    pub(crate) bidir: bool,
    /// Probe the round-trip time before and during each row; between two linerates
    #[arg(long, env = "LINERATE_LATENCY", value_parser = BoolishValueParser::new())]
    pub(crate) latency: bool,
    /// Interval of the probes of --latency
    #[arg(long, default_value = "10ms", env = "LINERATE_PROBE_EVERY", value_name = "DURATION", value_parser = parse_pause_of_probes)]
    pub(crate) probe_every: Duration,
    /// Do not sample the counters of the hosts: loss is not located, and results are SUSPECT at
    /// best
    #[arg(long, env = "LINERATE_NO_EVIDENCE", value_parser = BoolishValueParser::new())]
    pub(crate) no_evidence: bool,
    /// Do not follow a TCP row whose counters leave more than one explanation by an experiment of up to
    /// 1 s: things are changed for moments, to see whether the rate follows
    #[arg(long, env = "LINERATE_NO_PROBE_CAUSE", value_parser = BoolishValueParser::new())]
    pub(crate) no_probe_cause: bool,
    /// CPU profile rate in Hz: sample what each CPU of this host does, as perf does; 0: never. It
    /// takes root or kernel.perf_event_paranoid=1
    #[arg(long, default_value_t = ProfileFlag::default(), env = "LINERATE_PROFILE", value_name = "HERTZ")]
    pub(crate) profile: ProfileFlag,
    /// Watch a further host meanwhile, e.g. a router on the way, on which `linerate serve
    /// --observe` runs; may be given several times
    #[arg(long, env = "LINERATE_OBSERVE", value_name = "HOST[:PORT]", value_delimiter = ',', value_parser = super::server::parse_observed)]
    pub(crate) observe: Vec<ObservedHost>,
    /// Run each row this many times and show the median
    #[arg(long, default_value_t = 1, env = "LINERATE_REPEAT", value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,
}

/// How much.
#[derive(Debug, Args)]
#[command(next_help_heading = "How much")]
pub(crate) struct AmountFlags {
    /// Duration of each row [default: 5s]
    #[arg(short, long, env = "LINERATE_TIME", value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) time: Option<Duration>,
    /// Stop after this many bytes instead, e.g. 1G
    #[arg(short = 'n', long, conflicts_with = "time", env = "LINERATE_BYTES", value_name = "SIZE")]
    pub(crate) bytes: Option<ByteSize>,
    /// Stop after this many blocks or datagrams instead
    #[arg(short = 'k', long, conflicts_with_all = ["time", "bytes"], env = "LINERATE_BLOCKS", value_name = "COUNT", value_parser = parse_count)]
    pub(crate) blocks: Option<u64>,
    /// Omit the start of each row, so long, from the result
    #[arg(short = 'O', long, default_value = "0s", env = "LINERATE_OMIT", value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) omit: Duration,
    /// Sampling interval; if it is given, each interval has a line [default: 1s]
    #[arg(short, long, env = "LINERATE_INTERVAL", value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) interval: Option<Duration>,
}

/// Properties of each stream.
#[derive(Debug, Args)]
#[command(next_help_heading = "Streams")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct StreamFlags {
    /// Parallel streams in each direction; more than 128 between two linerates only
    #[arg(short = 'P', long, default_value_t = 1, env = "LINERATE_STREAMS", value_name = "COUNT", value_parser = parse_streams)]
    pub(crate) streams: u32,
    /// Rate of each stream in bit/s, e.g. 100M, 2.5Gbit or 1e8; 100mb is 100 Mbit/s too; 0: as fast as
    /// possible [default: TCP 0; UDP the highest rate with at most 0.1 % loss, which short trials
    /// find]
    #[arg(short = 'b', long, env = "LINERATE_RATE")]
    pub(crate) rate: Option<BitRate>,
    /// How each end keeps the rate of -b when it sends [default: smooth]
    #[arg(long, env = "LINERATE_PACING", value_name = "HOW", value_parser = pacings())]
    pub(crate) pacing: Option<Pacing>,
    /// Bytes per write or datagram [default: 128K, moved up to eight at a time, or what fits the path MTU; less at a low rate and for thousands of streams]
    #[arg(short = 'l', long, env = "LINERATE_LENGTH", value_name = "SIZE")]
    pub(crate) length: Option<ByteSize>,
    /// Socket buffer, e.g. 4M; 0: the kernel adjusts it
    #[arg(short, long, env = "LINERATE_WINDOW", value_name = "SIZE")]
    pub(crate) window: Option<ByteSize>,
    /// TCP maximum segment size in bytes
    #[arg(short = 'M', long, env = "LINERATE_MSS", value_name = "BYTES")]
    pub(crate) mss: Option<u32>,
    /// TCP congestion control at both ends, e.g. cubic
    #[arg(short = 'C', long, env = "LINERATE_CONGESTION", value_name = "NAME")]
    pub(crate) congestion: Option<String>,
    /// System calls that move the data; several names with commas between them
    #[arg(long, env = "LINERATE_ENGINE", value_name = "NAME", value_delimiter = ',', value_parser = engine_names())]
    pub(crate) engine: Vec<String>,
    /// Send TCP without copying, as iperf3 does: short for --engine sendfile
    #[arg(short = 'Z', long, conflicts_with_all = ["engine", "fastest", "udp"], env = "LINERATE_ZEROCOPY", value_parser = BoolishValueParser::new())]
    pub(crate) zerocopy: bool,
    /// Short for --engine auto
    #[arg(long, conflicts_with = "engine", env = "LINERATE_FASTEST", value_parser = BoolishValueParser::new())]
    pub(crate) fastest: bool,
    /// Set TCP_NODELAY
    #[arg(short = 'N', long, env = "LINERATE_NO_DELAY", value_parser = BoolishValueParser::new())]
    pub(crate) no_delay: bool,
    /// Multipath TCP (RFC 8684) in place of TCP
    #[arg(short, long, conflicts_with = "udp", env = "LINERATE_MPTCP", value_parser = BoolishValueParser::new())]
    pub(crate) mptcp: bool,
    /// CPUs to pin the workers (threads that run streams) to, e.g. 0,2-3; cores: one of each
    /// core; siblings: all of one core; away-from:eth0: those that serve no interrupts of that
    /// interface
    #[arg(long, env = "LINERATE_CPUS", value_name = "LIST", value_parser = usable_cpus)]
    pub(crate) cpus: Option<CpuList>,
}

/// Output.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputFlags {
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    /// Write the record as JSON to a file too, packed if its name ends in .gz
    #[arg(short, long, env = "LINERATE_OUTPUT", value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) requirements: RequirementFlags,
    /// Label for the record; may be given several times
    #[arg(long, env = "LINERATE_TAG", value_name = "KEY=VALUE", value_parser = parse_tag)]
    pub(crate) tag: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) store: StoreFlags,
    /// No progress; not together with --verbose
    #[arg(short, long, env = "LINERATE_QUIET", value_parser = BoolishValueParser::new())]
    pub(crate) quiet: bool,
    /// Show every interval, and which worker ran which streams on which CPU
    #[arg(short, long, env = "LINERATE_VERBOSE", value_parser = BoolishValueParser::new())]
    pub(crate) verbose: bool,
}

impl RowFlags {
    /// The transports that were chosen.
    pub(crate) const fn transports(&self) -> &'static [Transport] {
        match (self.tcp, self.udp) {
            (true, _) => &[Transport::Tcp],
            (_, true) => &[Transport::Udp],
            _ => &[Transport::Tcp, Transport::Udp],
        }
    }
}

impl OutputFlags {
    /// What has to be right before a test begins.
    pub(crate) fn check(&self) -> Result<(), UsageError> {
        self.output.as_deref().map_or(Ok(()), check_writable)
    }

    /// What shows the tests while they run.
    pub(crate) fn monitor(&self, usual: &'static dyn Export) -> Box<dyn Monitor> {
        monitor(self.format.or(usual), self.detail())
    }

    /// How much is shown while tests run.
    pub(crate) const fn detail(&self) -> Detail {
        Detail::from_flags(self.quiet, self.verbose)
    }

    /// What to do with the results.
    pub(crate) fn finish(
        &self,
        command: &'static str,
        usual: &'static dyn Export,
        requirements: Requirements,
    ) -> Finish<'_> {
        Finish {
            requirements,
            keeping: self.store.keeping(command),
            is_verbose: self.verbose,
            ..Finish::new(self.format.or(usual), self.output.as_deref())
        }
    }
}

impl StreamFlags {
    /// Whether short tests are to find the engines.
    pub(crate) fn wants_the_fastest(&self) -> bool {
        self.fastest || self.engine.iter().any(|name| name == AUTO)
    }
}

impl TestFlags {
    /// Forgets of the environment what means nothing for this test.
    pub(super) fn settle(mut self, matches: &ArgMatches) -> Result<Self, String> {
        let from_environment =
            |id: &str| matches.value_source(id) == Some(ValueSource::EnvVariable);
        let stream = &mut self.stream;
        let has_rate = stream.rate.is_some_and(|rate| rate.bits_per_second() > 0);
        let means_nothing = !has_rate || (stream.pacing == Some(Pacing::Even) && self.rows.tcp);
        if means_nothing && from_environment("pacing") {
            stream.pacing = None;
        }
        if from_environment("engine") {
            let transports = self.rows.transports();
            stream.engine.retain(|name| is_for(name, transports));
        }
        let needs = |transport| !stream.engine.iter().all(|name| is_for(name, &[transport]));
        let is_even = stream.pacing == Some(Pacing::Even);
        if from_environment("tcp") && (is_even || needs(Transport::Tcp)) {
            self.rows.tcp = false;
        }
        if from_environment("udp") && needs(Transport::Udp) {
            self.rows.udp = false;
        }
        self.server.settle(matches)?;
        if self.server.target.is_given_as_to_iperf3() {
            self.settle_rows_as_iperf3();
        }
        Ok(self)
    }

    /// One row, TCP from here, where no option says otherwise.
    pub(super) fn settle_rows_as_iperf3(&mut self) {
        let rows = &mut self.rows;
        let engines = &self.stream.engine;
        let is_of_datagrams = self.stream.pacing == Some(Pacing::Even)
            || engines.iter().any(|name| !is_for(name, &[Transport::Tcp]));
        rows.udp |= is_of_datagrams && !rows.tcp;
        rows.tcp |= !rows.udp;
        rows.send |= !rows.receive && !rows.bidir;
    }
}

/// The values of `--pacing`.
fn pacings() -> impl TypedValueParser<Value = Pacing> {
    let describe = |pacing: Pacing| match pacing {
        Pacing::Smooth => {
            "A few datagrams at once, at most 105 % of the rate; drop a stall of over 1 ms"
        }
        Pacing::Even => {
            "Datagrams, not TCP, one by one to the microsecond: spins, which can take a whole CPU"
        }
        Pacing::Repay => "As smooth, but send later what a stall held up, at 105 % of the rate",
        Pacing::Average => "As iperf3: what a stall held up goes at once when it ends",
    };
    PossibleValuesParser::new(
        Pacing::ALL.map(|pacing| PossibleValue::new(pacing.name()).help(describe(pacing))),
    )
    .map(|name| Pacing::named(&name).unwrap_or_default())
}

const EXAMPLES: &str = "\
Examples:
  linerate test 10.0.0.2                            four rows: TCP and UDP, send and receive
  linerate test 10.0.0.2 --tcp --send -P 4 -t 10s   one row, four streams
  linerate test fe80::1%eth0 --udp -b 500M --json   UDP at 500 Mbit/s, both ways in turn
  linerate test 10.0.0.2 -u -b 100M --pacing even   datagrams evenly spaced, whatever CPU that takes
  linerate test 10.0.0.2 --tcp --engine vmsplice    send pages of memory, not copies
  linerate test 10.0.0.2 --fastest                  try all engines briefly and take the best
  linerate test 10.0.0.2 --tcp --latency            what TCP does to the round-trip time
  linerate test 10.0.0.2 --repeat 5                 medians of five runs
  linerate test 10.0.0.2 -u --observe 10.0.0.254    what a router on the way drops, too
  linerate test 10.0.0.2 --min-rate 900M --max-loss 0.1% --require suspect   exit code 4 if missed

With -c HOST one row, as iperf3 runs it: TCP from here, or what -u, -R and --bidir say.
Names of iperf3 are taken too: --bitrate, --parallel, --reverse, --set-mss, --blockcount.
Trust: VALID, the numbers mean what they say; SUSPECT, something else may be in them; INVALID, they
do not tell what was asked. Lines under the table say why, where datagrams went and what TCP waited for.
Exit codes: 0 done; 1 failed; 2 usage; 3 a result is INVALID; 4 a requirement (--min-rate, ...)
is missed; 5 the server was busy; 130 interrupted";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_have_a_key() {
        assert_eq!(parse_tag("site=lab=1"), Ok(("site".into(), "lab=1".into())));
        assert!(parse_tag("=x").is_err() && parse_tag("x").is_err());
    }
}
