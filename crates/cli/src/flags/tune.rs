//! Flags of `tune`.

use std::path::PathBuf;

use campaign::ObservedHost;
use clap::builder::{BoolishValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgMatches, Args};
use host::tuning::PersistBy;
use measurement::Metric;

use super::TestFlags;
use super::server::parse_observed;
use super::values::{parse_margin, parse_pairs};

/// Tunes this host for a test: tries the changes that its verdict names, one after another, against
/// the settings before them in turn, keeps what helps and hurts nothing else, and undoes the rest. A
/// test is one row, TCP from here unless -u, -R or --bidir are given.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TuneFlags {
    /// What is to become better
    #[arg(long, default_value = "throughput", env = "LINERATE_GOAL", value_name = "METRIC", help_heading = "Tuning", value_parser = metrics())]
    pub(crate) goal: Metric,
    /// Change settings without asking
    #[arg(short, long, env = "LINERATE_YES", value_parser = BoolishValueParser::new(), help_heading = "Tuning")]
    pub(crate) yes: bool,
    /// Change nothing: print what would be tried first, and how to undo it, as a shell script
    #[arg(long, env = "LINERATE_DRY_RUN", value_parser = BoolishValueParser::new(), help_heading = "Tuning")]
    pub(crate) dry_run: bool,
    /// Undo at the end what helped, too
    #[arg(long, env = "LINERATE_KEEP_NONE", value_parser = BoolishValueParser::new(), help_heading = "Tuning")]
    pub(crate) keep_none: bool,
    /// Loss of another metric at which a change is undone
    #[arg(long, default_value = "10%", env = "LINERATE_GUARD", value_name = "SHARE", help_heading = "Tuning", value_parser = parse_margin)]
    pub(crate) guard: f64,
    /// Findings whose changes are tried, at most
    #[arg(long, default_value_t = 8, env = "LINERATE_CHANGES", value_name = "COUNT", help_heading = "Tuning", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) changes: u32,
    /// Pairs of tests at which a comparison ends undecided
    #[arg(long, default_value_t = 16, env = "LINERATE_PAIRS", value_name = "COUNT", help_heading = "Tuning", value_parser = parse_pairs)]
    pub(crate) pairs: u32,
    /// Difference that does not matter: smaller ones are not looked for
    #[arg(long, default_value = "2%", env = "LINERATE_MARGIN", value_name = "SHARE", help_heading = "Tuning", value_parser = parse_margin)]
    pub(crate) margin: f64,
    /// Seed of the order of the tests [default: another one each time]
    #[arg(long, env = "LINERATE_SEED", value_name = "NUMBER", help_heading = "Tuning")]
    pub(crate) seed: Option<u64>,
    /// Directory of the journal of changes
    #[arg(long, default_value = host::tuning::DIRECTORY, env = "LINERATE_STATE", value_name = "DIR", help_heading = "Tuning")]
    pub(crate) state: PathBuf,
    /// Tune the other end, too: file with the key of "linerate serve --allow-tune" there
    #[arg(long, env = "LINERATE_TUNE_KEY", value_name = "FILE", help_heading = "Tuning")]
    pub(crate) tune_key: Option<PathBuf>,
    /// Tune this host in place of the server, e.g. a router on the path, which is observed as well;
    /// may be repeated, also with the server
    #[arg(long, requires = "tune_key", env = "LINERATE_ON", value_name = "HOST[:PORT]", value_delimiter = ',', value_parser = parse_observed, help_heading = "Tuning")]
    pub(crate) on: Vec<ObservedHost>,
    /// Have what is kept outlive the next boot: write files for it, which linerate undo
    /// --persistent takes back; with --dry-run print them in place of the script
    #[arg(long, env = "LINERATE_PERSIST", conflicts_with = "keep_none", value_name = "BY", value_parser = ways(), help_heading = "Tuning")]
    pub(crate) persist: Option<PersistBy>,
    /// Directory below which these files are written, such as an image that is mounted there
    #[arg(
        long,
        default_value = "/",
        env = "LINERATE_PERSIST_ROOT",
        value_name = "DIR",
        help_heading = "Tuning"
    )]
    pub(crate) persist_root: PathBuf,
    #[command(flatten)]
    pub(crate) test: TestFlags,
}

impl TuneFlags {
    pub(super) fn settle(mut self, matches: &ArgMatches) -> Result<Self, String> {
        self.test = self.test.settle(matches)?;
        self.test.settle_rows_as_iperf3();
        Ok(self)
    }
}

/// The values of `--persist`.
pub(super) fn ways() -> impl TypedValueParser<Value = PersistBy> {
    let describe = |by| match by {
        PersistBy::Sysctl => "sysctl.d(5): sysctls alone",
        PersistBy::Systemd => "sysctl.d(5), systemd.link(5), and a service for the rest",
        PersistBy::Udev => "Rules of udev(7): settings of interfaces and of CPUs",
        PersistBy::Openwrt => "A service in /etc/init.d of OpenWrt",
        PersistBy::Shell => "A script, to be run at each start: /etc/linerate/tuning.sh",
    };
    let value = |by: PersistBy| PossibleValue::new(by.name()).help(describe(by));
    PossibleValuesParser::new(PersistBy::ALL.map(value)).map(|name| {
        let named = PersistBy::ALL.into_iter().find(|by| by.name() == name);
        named.unwrap_or(PersistBy::Shell)
    })
}

/// The values of `--goal`.
fn metrics() -> impl TypedValueParser<Value = Metric> {
    let describe = |metric| match metric {
        Metric::Throughput => "Payload that arrives",
        Metric::Pps => "Datagrams that arrive; UDP",
        Metric::Latency => "Median round-trip time beside the test; between two linerates",
        Metric::Cpu => "CPU time of both ends for a GB",
    };
    let value = |metric: Metric| PossibleValue::new(metric.name()).help(describe(metric));
    PossibleValuesParser::new(Metric::ALL.map(value)).map(|name| {
        let named = Metric::ALL.into_iter().find(|metric| metric.name() == name);
        named.unwrap_or_default()
    })
}

const EXAMPLES: &str = "\
Examples:
  sudo linerate tune 10.0.0.2                    asks before each change
  sudo linerate tune 10.0.0.2 --yes -R           for what comes from the server
  linerate tune 10.0.0.2 --dry-run > tune.sh     sh tune.sh, and sh tune.sh undo
  sudo linerate tune 10.0.0.2 -y --goal cpu -P 4
  sudo linerate tune 10.0.0.2 --tune-key KEY     changes the server as well
  sudo linerate tune 10.0.0.2 --persist systemd  what is kept outlives the next boot
  sudo linerate undo                             if a tuning was killed

Settings of other hosts are changed only with --tune-key. A change stays if the
interval of the goal excludes no change (95 %), no other metric is worse by more than the guard, and
a last comparison of all that stay with the settings before confirms it. What stays holds until the
next boot, or with --persist until linerate undo --persistent and a boot. Ctrl-C undoes all.
Exit codes: 0 done, whatever stays; 1 failed, all is undone; 2 usage; 3 too few runs are valid; 5 the
server was busy; 130 interrupted, all is undone";
