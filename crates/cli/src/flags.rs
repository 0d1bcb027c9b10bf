//! The command line as it was typed.

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

mod capture;
mod color;
mod cpus;
mod demo;
mod diagnose;
pub(crate) mod engines;
mod explain;
pub(crate) mod format;
mod host;
mod iperf3;
pub(crate) mod iperf3_values;
mod latency;
mod profile;
mod requirements;
mod serve;
mod server;
mod test;
mod values;

pub(crate) use capture::CaptureFlags;
pub(crate) use color::Color;
pub(crate) use demo::DemoFlags;
pub(crate) use diagnose::DiagnoseFlags;
pub(crate) use explain::ExplainFlags;
pub(crate) use host::HostFlags;
pub(crate) use iperf3::{GivenRoles, Iperf3Flags};
pub(crate) use latency::{LatencyFlags, Row as LatencyRow};
pub(crate) use serve::ServeFlags;
pub(crate) use test::TestFlags;

/// Measures how fast a Linux box really moves packets, against another linerate or any iperf3.
#[derive(Debug, Parser)]
#[command(name = "linerate", version, propagate_version = true, max_term_width = 100)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// When to use colours (NO_COLOR is honoured)
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        env = "LINERATE_COLOR",
        value_name = "WHEN"
    )]
    pub(crate) color: Color,
}

impl Arguments {
    /// The arguments of this process.
    pub(crate) fn read() -> Result<Self, clap::Error> {
        let matches = Self::command().try_get_matches()?;
        let formatted = |error: clap::Error| error.format(&mut Self::command());
        let Self { command, color } = Self::from_arg_matches(&matches).map_err(formatted)?;
        let command = match (command, matches.subcommand()) {
            (Command::Test(flags), Some((_, matches))) => {
                Command::Test(Box::new(flags.settle(matches)))
            }
            (command, _) => command,
        };
        Ok(Self { command, color })
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Answer clients, linerate or iperf3, on one port
    Serve(Box<ServeFlags>),
    /// Measure TCP and UDP, both ways, against a server
    Test(Box<TestFlags>),
    /// Measure how long responses take, idle and under load, against a linerate
    Latency(Box<LatencyFlags>),
    /// Make a link on this machine, of 1 Gbit/s unless told otherwise, and measure it
    Demo(DemoFlags),
    /// Name what limits this host, or a test against a server
    Diagnose(DiagnoseFlags),
    /// Explain a rule, or what limited a test whose record is in a file
    Explain(ExplainFlags),
    /// Show what this host has, or one that was captured
    Host(HostFlags),
    /// Write what this host has to a file, to look at it elsewhere
    Capture(CaptureFlags),
    /// Do what iperf3 would do with these arguments, in its words
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Iperf3 {
        /// iperf3's own arguments; see iperf3 --help
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
        arguments: Vec<std::ffi::OsString>,
    },
    /// Print a completion script for a shell
    #[command(
        after_help = "Example:\n  linerate completions bash > /etc/bash_completion.d/linerate"
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    #[command(after_help = "Example:\n  linerate man | man -l -")]
    Man,
}

const EXAMPLES: &str = "\
Examples:
  linerate serve                      on one host
  linerate test 10.0.0.2              on the other: TCP and UDP, send and receive
  linerate diagnose 10.0.0.2          what limits it, and what to change
  linerate demo                       no second host needed
  linerate iperf3 -c 10.0.0.2 -J      as iperf3; so does a link named iperf3

Exit codes: 0 done; 1 the run failed; 2 usage; 3 a result is INVALID; 4 a requirement is missed; 5 the server was busy; 130 interrupted.";
