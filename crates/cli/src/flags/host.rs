//! Flags of `host`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::BoolishValueParser;

/// Shows what a host has that decides how fast it is: CPUs, interfaces, where their interrupts
/// go, settings and limits; and what could not be read.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct HostFlags {
    /// A captured host: the archive of linerate capture, or the folder in which it was unpacked
    /// [default: this host]
    #[arg(long, env = "LINERATE_ROOT", value_name = "DIR|FILE")]
    pub(crate) root: Option<PathBuf>,
    /// Print it as JSON
    #[arg(long, env = "LINERATE_JSON", value_parser = BoolishValueParser::new())]
    pub(crate) json: bool,
    /// Print what the kernel was built without that attribution, tests and tracing use, as a
    /// fragment of a kernel configuration
    #[arg(long, conflicts_with = "json")]
    pub(crate) kernel_config: bool,
}

const EXAMPLES: &str = "\
Examples:
  linerate host                          this one, as far as you may see it
  sudo linerate host                     all of it
  linerate host --root router.tar        one that was captured
  linerate host --kernel-config > fragment.config
  linerate host --json | jq .inventory.interfaces";
