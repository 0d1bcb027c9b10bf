//! Flags of `diagnose`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::BoolishValueParser;
use host::tuning::PersistBy;
use measurement::units::parse_duration;
use measurement::{BitRate, ByteSize};

use super::format::FormatFlags;
use super::profile::ProfileFlag;
use super::server::{FamilyFlags, SERVER, TargetFlags};
use super::store::StoreFlags;
use super::tune::ways;
use super::values::parse_streams;

/// Names what limits. Without a server: what of this host, or of one that was captured, would
/// limit any test. With one: runs TCP and UDP, both ways, looks at the CPUs of both ends
/// meanwhile, and names what limited each. Where a row has two explanations, it runs up to three
/// further tests of at most 2 s that separate them, such as UDP at a lower rate.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DiagnoseFlags {
    #[command(flatten)]
    pub(crate) target: TargetFlags,
    /// A captured host in place of this one: the archive of linerate capture, or the folder in
    /// which it was unpacked
    #[arg(long, conflicts_with = SERVER, value_name = "DIR|FILE")]
    pub(crate) root: Option<PathBuf>,
    /// Print the changes that the findings name as a shell script, which makes and undoes them
    #[arg(long, env = "LINERATE_SCRIPT", value_parser = BoolishValueParser::new(), conflicts_with_all = [SERVER, "format", "json"])]
    pub(crate) script: bool,
    /// Print the files by which the changes outlive a boot in place of the script
    #[arg(long, env = "LINERATE_PERSIST", requires = "script", value_name = "BY", value_parser = ways())]
    pub(crate) persist: Option<PersistBy>,
    #[command(flatten)]
    pub(crate) family: FamilyFlags,
    /// How long each of the four rows takes
    #[arg(short, long, default_value = "5s", env = "LINERATE_TIME", value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) time: Duration,
    /// Parallel streams in each direction
    #[arg(short = 'P', long, default_value_t = 1, env = "LINERATE_STREAMS", value_name = "COUNT", value_parser = parse_streams)]
    pub(crate) streams: u32,
    /// Target rate of each stream, e.g. 100M; 0: as fast as possible [default: TCP 0; UDP the
    /// highest rate with at most 0.1 % loss]
    #[arg(short = 'b', long, env = "LINERATE_RATE", requires = SERVER)]
    pub(crate) rate: Option<BitRate>,
    /// Socket buffer, e.g. 4M
    #[arg(short, long, env = "LINERATE_WINDOW", value_name = "SIZE", requires = SERVER)]
    pub(crate) window: Option<ByteSize>,
    /// CPU profile rate in Hz: sample what each CPU of this host does, as perf does; 0: never. It
    /// takes root or kernel.perf_event_paranoid=1
    #[arg(long, default_value_t = ProfileFlag::default(), env = "LINERATE_PROFILE", value_name = "HERTZ", requires = SERVER)]
    pub(crate) profile: ProfileFlag,
    /// Run the four rows alone, without further tests that decide between explanations
    #[arg(long, env = "LINERATE_NO_FOLLOW_UP", requires = SERVER, value_parser = BoolishValueParser::new())]
    pub(crate) no_follow_up: bool,
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    /// Write the records of the tests as JSON to a file too, packed if its name ends in .gz
    #[arg(short, long, env = "LINERATE_OUTPUT", value_name = "FILE", requires = SERVER)]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) store: StoreFlags,
    /// No progress
    #[arg(short, long, env = "LINERATE_QUIET", value_parser = BoolishValueParser::new())]
    pub(crate) quiet: bool,
}

const EXAMPLES: &str = "\
Examples:
  linerate diagnose                       this host alone: what would limit a test
  linerate diagnose --root router.tar     a captured host
  linerate diagnose --script > tune.sh    what it names as a script: sh tune.sh, sh tune.sh undo
  linerate diagnose --script --persist systemd
  sudo linerate diagnose 10.0.0.2         tests against a server, and names what limited them
  linerate explain rx-ring-overrun        more on what was found

Where a row has two explanations, up to three further tests of at most 2 s tell which it is, such as
UDP at a lower rate: random loss, or a rate limit? A line 'further measurement' says which were run.
As root it sees more: where CPUs spend their time, rings and offloads of interfaces.
Exit codes: as those of linerate test";
