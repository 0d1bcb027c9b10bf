//! Flags of `search`.

use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{ArgMatches, Args};
use measurement::units::parse_duration;
use measurement::{BitRate, ByteSize};

use super::cpus::{CpuList, usable_cpus};
use super::output::RecordOutputFlags;
use super::packets::PacketFlags;
use super::requirements::parse_percentage;
use super::server::ServerFlags;
use super::store::StoreFlags;
use super::values::{parse_streams, parse_time_within};

/// Finds the highest load that a path carries without loss, and with a little: several goals at
/// once, by short trials that grow near the knee (RFC 9971, MLRsearch).
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, mut_arg("quiet", |quiet| quiet.help(QUIET)))]
pub(crate) struct SearchFlags {
    #[command(flatten)]
    pub(crate) server: ServerFlags,
    #[command(flatten)]
    pub(crate) goals: GoalFlags,
    #[command(flatten)]
    pub(crate) load: LoadFlags,
    #[command(flatten)]
    pub(crate) packets: PacketFlags,
    #[command(flatten)]
    pub(crate) output: RecordOutputFlags,
    /// Show every trial, and in what the search deviates from RFC 2544
    #[arg(short, long, env = "LINERATE_VERBOSE", help_heading = "Output", value_parser = BoolishValueParser::new())]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) store: StoreFlags,
}

/// What a load must keep.
#[derive(Debug, Args)]
#[command(next_help_heading = "Goals")]
pub(crate) struct GoalFlags {
    /// Loss that may be, a goal each, with commas between them [default: 0,0.1%,1%; over TCP 0]
    #[arg(long, env = "LINERATE_LOSS", value_name = "SHARES", value_delimiter = ',', value_parser = parse_loss)]
    pub(crate) loss: Vec<f64>,
    /// By how much the upper bound may exceed the lower one
    #[arg(long, default_value = "1%", env = "LINERATE_WIDTH", value_name = "SHARE", value_parser = parse_width)]
    pub(crate) width: f64,
    /// Duration of a trial far from the knee
    #[arg(long, default_value = "250ms", env = "LINERATE_INITIAL_TRIAL", value_name = "DURATION", value_parser = parse_trial)]
    pub(crate) initial_trial: Duration,
    /// Duration of a trial at a bound; longer where less would not show loss
    #[arg(long, default_value = "1s", env = "LINERATE_FINAL_TRIAL", value_name = "DURATION", value_parser = parse_trial)]
    pub(crate) final_trial: Duration,
    /// Sum of the trials at a bound that decides in any case [default: twice --final-trial]
    #[arg(long, env = "LINERATE_DURATION_SUM", value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) duration_sum: Option<Duration>,
    /// Share of that sum that may have more loss
    #[arg(long, default_value = "50%", env = "LINERATE_EXCEED", value_name = "SHARE", value_parser = parse_exceed)]
    pub(crate) exceed: f64,
    /// Time for all trials
    #[arg(long, default_value = "20s", env = "LINERATE_BUDGET", value_name = "DURATION", value_parser = parse_budget)]
    pub(crate) budget: Duration,
}

/// What is offered.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct LoadFlags {
    /// Paced TCP in place of UDP: what of a load is not kept counts as loss
    #[arg(long, env = "LINERATE_TCP", value_parser = BoolishValueParser::new())]
    pub(crate) tcp: bool,
    /// From the server to here
    #[arg(short = 'R', long, env = "LINERATE_RECEIVE", value_parser = BoolishValueParser::new())]
    pub(crate) receive: bool,
    /// Parallel streams, which share the load
    #[arg(short = 'P', long, default_value_t = 1, env = "LINERATE_STREAMS", value_name = "COUNT", value_parser = parse_streams)]
    pub(crate) streams: u32,
    /// Bytes per datagram, or per write over TCP [default: what fits the path MTU, or 128K]
    #[arg(short = 'l', long, env = "LINERATE_LENGTH", value_name = "SIZE")]
    pub(crate) length: Option<ByteSize>,
    /// Load of the first trial
    #[arg(long, default_value = "10M", env = "LINERATE_START_RATE", value_name = "RATE")]
    pub(crate) start_rate: BitRate,
    /// The highest load that is tried [default: no limit]
    #[arg(long, env = "LINERATE_MAX_RATE", value_name = "RATE")]
    pub(crate) max_rate: Option<BitRate>,
    /// CPUs to pin the workers to, as in linerate test
    #[arg(long, env = "LINERATE_CPUS", value_name = "LIST", value_parser = usable_cpus)]
    pub(crate) cpus: Option<CpuList>,
}

impl SearchFlags {
    /// Of two ports the one that was typed counts.
    pub(super) fn settle(mut self, matches: &ArgMatches) -> Result<Self, String> {
        self.server.target.settle(matches)?;
        Ok(self)
    }
}

pub(super) fn parse_loss(text: &str) -> Result<f64, String> {
    let share = if text.trim() == "0" { Ok(0.0) } else { parse_percentage(text.trim()) };
    let share = share.ok().filter(|share| *share <= MOST_LOSS);
    share.ok_or_else(|| "choose 0, or a share up to 50%, e.g. 0.1%".to_owned())
}

pub(super) fn parse_width(text: &str) -> Result<f64, String> {
    let share = parse_percentage(text)?;
    let range = 0.001..=0.5;
    range.contains(&share).then_some(share).ok_or_else(|| "choose between 0.1% and 50%".to_owned())
}

fn parse_exceed(text: &str) -> Result<f64, String> {
    let share = parse_percentage(text)?;
    (share <= MOST_EXCEEDED).then_some(share).ok_or_else(|| "choose between 0% and 90%".to_owned())
}

pub(super) fn parse_trial(text: &str) -> Result<Duration, String> {
    parse_time_within(text, Duration::from_millis(50), Duration::from_secs(60), "50ms and 60s")
}

pub(super) fn parse_budget(text: &str) -> Result<Duration, String> {
    parse_time_within(text, Duration::from_secs(1), Duration::from_secs(3600), "1s and 1h")
}

const MOST_LOSS: f64 = 0.5;
const MOST_EXCEEDED: f64 = 0.9;
const QUIET: &str = "No progress; not together with --verbose";

const EXAMPLES: &str = "\
Examples:
  linerate search 10.0.0.2                          UDP: without loss, and with 0.1 % and 1 %
  linerate search 10.0.0.2 --loss 0 --width 2%      one goal, in less time
  linerate search 10.0.0.2 -R -l 64                 from the server, in small datagrams
  linerate search 10.0.0.2 --tcp                    the highest rate at which paced TCP keeps up
  linerate search 10.0.0.2 --final-trial 10s --budget 5m --json
  linerate search 10.0.0.2 --max-rate 500M -v       never more than that; every trial

Lower bound: it keeps the goal; upper bound: it does not (load classification of RFC 9971). A
queue that grows during a trial counts as loss. -v tells in what trials deviate from RFC 2544.
Knee: more is lost or queued on the way. Ceiling: the sender offers no more.
Exit codes: 0 done; 1 failed; 2 usage; 3 no goal has a lower bound; 5 the server was busy; 130
interrupted, with what is known until then";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_shares() {
        assert_eq!(parse_loss("0"), Ok(0.0));
        assert_eq!(parse_loss("0.1%"), Ok(0.001));
        for text in ["", "1", "60%", "-1%", "nan%"] {
            assert!(parse_loss(text).is_err(), "{text}");
        }
        assert_eq!(parse_width("2%"), Ok(0.02));
        assert!(parse_width("0%").is_err() && parse_exceed("100%").is_err());
        assert!(parse_trial("10ms").is_err() && parse_budget("10ms").is_err());
    }
}
