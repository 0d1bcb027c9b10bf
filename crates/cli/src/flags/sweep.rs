//! Flags of `sweep`.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args};
use measurement::units::parse_duration;

use super::TestFlags;
use super::sweep_axis::{Over, parse_over};

/// Runs a test at each point of one axis or two, and draws the curve. What is not varied is set as
/// for linerate test; a point is one row, TCP from here unless the axis is the rate or the size of
/// datagrams, or -u, -R or --bidir are given.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SweepFlags {
    /// What to vary, and its values: rate, size (of datagrams), streams, buffer, write, mss, pages
    /// (base or huge, of the payload), congestion, engine, placement (CPUs here) or direction; or, of
    /// the interface towards the server, as root and undone after the sweep, mtu, offload (none, all,
    /// gro, tso+gso, ...), ring or qdisc. A list such as rate=10M,20M,50M;
    /// by doubling, streams=1..64; or in equal steps, rate=10M..100M/10. Twice: two axes
    #[arg(long, required = true, value_name = "AXIS[=LIST]", help_heading = "Sweep", value_parser = parse_over)]
    pub(crate) over: Vec<Over>,
    /// Time for all points together; without -t it sets the time of each
    #[arg(long, env = "LINERATE_BUDGET", value_name = "DURATION", help_heading = "Sweep", value_parser = parse_duration)]
    pub(crate) budget: Option<Duration>,
    /// Go on with the sweep in the file of -o: what is in it is not measured again
    #[arg(long, requires = "output", env = "LINERATE_RESUME", help_heading = "Sweep", value_parser = BoolishValueParser::new())]
    pub(crate) resume: bool,
    /// Interface of this host whose settings are varied [default: the one towards the server]
    #[arg(long, value_name = "NAME", help_heading = "Sweep")]
    pub(crate) interface: Option<String>,
    /// Directory of the journal of changes
    #[arg(long, default_value = host::tuning::DIRECTORY, env = "LINERATE_STATE", value_name = "DIR", help_heading = "Sweep")]
    pub(crate) state: PathBuf,
    #[command(flatten)]
    pub(crate) test: TestFlags,
}

impl SweepFlags {
    /// Forgets of the environment what means nothing for the row.
    pub(super) fn settle(self, matches: &ArgMatches) -> Result<Self, String> {
        let Self { over, budget, resume, interface, state, test } = self;
        let mut test = test.settle(matches)?;
        let from_environment =
            |id: &str| matches.value_source(id) == Some(ValueSource::EnvVariable);
        if from_environment("unit") {
            test.unit = None;
        }
        if from_environment("repeat") {
            test.rows.repeat = 1;
        }
        test.stream.fastest &= !from_environment("fastest");
        test.rows.tcp &= !from_environment("tcp");
        test.rows.udp &= !from_environment("udp");
        Ok(Self { over, budget, resume, interface, state, test })
    }
}

const EXAMPLES: &str = "\
Examples:
  linerate sweep 10.0.0.2 --over rate                        UDP at 1 Mbit/s to 1 Gbit/s
  linerate sweep 10.0.0.2 --over rate=10M..100M/10 -t 5s     ten rates
  linerate sweep 10.0.0.2 --over size -b 0                   packets/s over the size of datagrams
  linerate sweep 10.0.0.2 --over streams=1..64 --budget 60s
  linerate sweep 10.0.0.2 --over mtu=1500,9000 --over offload=none,gro,all
  linerate sweep 10.0.0.2 --over buffer=64K..4M --over congestion=cubic,reno
  linerate sweep 10.0.0.2 --over engine=write,sendfile+msg-trunc
  linerate sweep 10.0.0.2 --over pages --engine zerocopy     payload on base pages and on huge ones
  linerate sweep 10.0.0.2 --over placement=any,0,1,0+1
  linerate sweep 10.0.0.2 --over rate -o rate.jsonl          each point is stored when it has ended
  linerate sweep 10.0.0.2 --over rate -o rate.jsonl --resume goes on after a break
  linerate explain rate.jsonl                                what limited each point
  linerate sweep 10.0.0.2 --over rate --format csv > rate.csv

Ctrl-C keeps what is measured and draws it.
Exit codes: 0 done; 1 a point failed; 2 usage; 3 all points are INVALID; 4 a requirement (--min-rate,
...) is missed; 5 the server was busy; 130 interrupted";
