//! Flags of `capture`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::BoolishValueParser;

/// Writes the files of /proc and /sys that say what this host has and counts, and what only
/// netlink and ethtool tell of its interfaces, to one archive. linerate host --root shows it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CaptureFlags {
    /// The archive to write, in the format of tar; - is standard output
    #[arg(
        short,
        long,
        default_value = "linerate-capture.tar",
        env = "LINERATE_CAPTURE",
        value_name = "FILE"
    )]
    pub(crate) output: PathBuf,
    /// Replace the host's name, addresses, hardware addresses and boot id by stand-ins
    #[arg(long, env = "LINERATE_MASK", value_parser = BoolishValueParser::new())]
    pub(crate) mask: bool,
}

const EXAMPLES: &str = "\
Examples:
  linerate capture                              to linerate-capture.tar
  linerate capture --mask -o board.tar          to show it to others
  ssh router linerate capture -o - > router.tar
  linerate host --root board.tar                look at it

It holds settings, interrupts and counters of the kernel. Names of interfaces, of the board and
of control groups stay as they are, also with --mask.";
