//! Flags of `ab`.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Error};
use measurement::remedy::Setting;

use super::server::Target;
use super::values::{parse_margin, parse_pairs};
use super::{Arguments, Command, TestFlags};

/// Compares two settings, A and B: tests both in turn, pair by pair in an order by lot, until it is
/// decided which is faster or that they differ by less than a margin. They differ in options of the
/// test, in settings of this host, in the server, or in the program that tests. What is typed
/// without --a and --b holds for both, as for linerate test; a test is one row, TCP from here
/// unless -u, -R or --bidir are given.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AbFlags {
    /// Options of A alone [default: none]
    #[arg(
        long,
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true,
        value_name = "OPTIONS",
        help_heading = "A/B test"
    )]
    pub(crate) a: String,
    /// Options of B alone, e.g. '-w 4M -C bbr'
    #[arg(long, allow_hyphen_values = true, value_name = "OPTIONS", help_heading = "A/B test")]
    pub(crate) b: Option<String>,
    /// A setting of this host for A, as the command that makes it; made before and undone after each
    /// of its tests; may be given several times
    #[arg(long, allow_hyphen_values = true, value_name = "COMMAND", help_heading = "A/B test")]
    pub(crate) a_change: Vec<Setting>,
    /// The same for B, e.g. 'sysctl -w net.ipv4.tcp_congestion_control=bbr'
    #[arg(long, allow_hyphen_values = true, value_name = "COMMAND", help_heading = "A/B test")]
    pub(crate) b_change: Vec<Setting>,
    /// The server of B
    #[arg(long, value_name = "HOST[:PORT]", value_parser = Target::read, help_heading = "A/B test")]
    pub(crate) b_host: Option<Target>,
    /// Program that tests for A in place of this one: an iperf3 or a linerate
    #[arg(long, value_name = "FILE", help_heading = "A/B test")]
    pub(crate) a_program: Option<PathBuf>,
    /// The same for B
    #[arg(long, value_name = "FILE", help_heading = "A/B test")]
    pub(crate) b_program: Option<PathBuf>,
    /// Pairs at which it ends undecided
    #[arg(long, default_value_t = 20, env = "LINERATE_PAIRS", value_name = "COUNT", help_heading = "A/B test", value_parser = parse_pairs)]
    pub(crate) pairs: u32,
    /// Difference that does not matter: smaller ones are not looked for
    #[arg(long, default_value = "2%", env = "LINERATE_MARGIN", value_name = "SHARE", help_heading = "A/B test", value_parser = parse_margin)]
    pub(crate) margin: f64,
    /// Seed of the order of the tests [default: another one each time]
    #[arg(long, env = "LINERATE_SEED", value_name = "NUMBER", help_heading = "A/B test")]
    pub(crate) seed: Option<u64>,
    /// Directory of the journal of changes
    #[arg(long, default_value = host::tuning::DIRECTORY, env = "LINERATE_STATE", value_name = "DIR", help_heading = "A/B test")]
    pub(crate) state: PathBuf,
    #[command(flatten)]
    pub(crate) test: TestFlags,
}

impl AbFlags {
    pub(super) fn settle(mut self, matches: &ArgMatches) -> Result<Self, String> {
        self.test = self.test.settle(matches)?;
        self.test.settle_rows_as_iperf3();
        Ok(self)
    }

    /// Flags of a side: what was typed for both sides, then `options`.
    pub(crate) fn side(options: &str) -> Result<TestFlags, Error> {
        let typed: Vec<_> = std::env::args_os().skip(1).collect();
        let command = Arguments::read(as_test(&typed, options))?.command;
        let Command::Test(mut test) = command else {
            return Err(Error::raw(ErrorKind::InvalidSubcommand, "they are no options of a test"));
        };
        test.settle_rows_as_iperf3();
        Ok(*test)
    }
}

/// The words of a command line as those of `test`, with the options of a side behind.
fn as_test(typed: &[OsString], options: &str) -> Vec<OsString> {
    let place = typed.iter().position(|word| word == "ab").unwrap_or_default();
    let mut words = typed[..place].to_vec();
    words.push("test".into());
    let mut rest = typed[place..].iter().skip(1);
    while let Some(word) = rest.next() {
        match own_option(word) {
            Some(Value::Next) => _ = rest.next(),
            Some(Value::Within) => {}
            None => words.push(word.clone()),
        }
    }
    // Behind -- there are no options.
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let own = options.split_whitespace().map(OsString::from);
    words.splice(end..end, own);
    words
}

/// Where the value of an option is.
enum Value {
    Within,
    Next,
}

/// Whether a word is an option of `ab` alone.
fn own_option(word: &OsStr) -> Option<Value> {
    let word = word.to_str()?.strip_prefix("--")?;
    let (name, value) = word.split_once('=').map_or((word, None), |(name, it)| (name, Some(it)));
    let value = if value.is_some() { Value::Within } else { Value::Next };
    OWN.contains(&name).then_some(value)
}

/// Options that `linerate test` has not.
const OWN: [&str; 11] = [
    "a",
    "b",
    "a-change",
    "b-change",
    "b-host",
    "a-program",
    "b-program",
    "state",
    "pairs",
    "margin",
    "seed",
];

const EXAMPLES: &str = "\
Examples:
  linerate ab 10.0.0.2 --b '-w 4M'                  the default buffers against 4 MiB
  linerate ab 10.0.0.2 --a '-C cubic' --b '-C bbr' -R
  linerate ab 10.0.0.2 --a '--cpus 0' --b '--cpus 2' -t 5s
  linerate ab 10.0.0.2 --b '' --pairs 40            does the path differ from itself?
  sudo linerate ab 10.0.0.2 --b-change 'ethtool -K eth0 gro off'
  linerate ab 10.0.0.2 --b-host 10.0.0.3            two servers
  linerate ab 10.0.0.2 --b-program iperf3           this linerate against an iperf3
  linerate ab 10.0.0.2 --b '-P 8' --margin 5%       differences below 5 % do not matter

It ends when the interval of the ratio of rates excludes 1 or is within the margin; the interval holds
with 95 % however often it is looked at. Runs that are INVALID are repeated with their pair.
Exit codes: 0 done, whatever the difference; 1 failed; 2 usage; 3 too few runs are valid; 4 a
requirement (--min-rate, ...) is missed; 5 the server was busy; 130 interrupted, with what the pairs so far show";

#[cfg(test)]
mod tests {
    use super::*;

    fn as_typed(line: &str, options: &str) -> String {
        let words: Vec<_> = line.split(' ').map(OsString::from).collect();
        let words = as_test(&words, options);
        words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_side_is_a_test_with_what_both_have_and_what_it_has() {
        let line = "ab 10.0.0.2 --a -N --b=-w4M -t 3s --pairs 9 --seed=1";
        assert_eq!(as_typed(line, "-w 4M  -N"), "test 10.0.0.2 -t 3s -w 4M -N");
        assert_eq!(as_typed("--color never ab h --b -N", ""), "--color never test h");
        assert_eq!(as_typed("ab --b -N -- h", "-N"), "test -N -- h");
        assert_eq!(as_typed("ab h --b-change reset -u --b-host=i --state x", ""), "test h -u");
    }

    #[test]
    fn pairs_and_margins_have_limits() {
        assert_eq!((parse_pairs("20"), parse_margin("2%")), (Ok(20), Ok(0.02)));
        assert!(parse_pairs("3").is_err() && parse_margin("0%").is_err());
        assert!(parse_pairs("1001").is_err());
        for wrong in ["0", "60%", "1000%", "-5", "much"] {
            assert_eq!(parse_margin(wrong), Err("choose between 0.1% and 50%".to_owned()));
        }
    }
}
