//! The command line as it was typed.

use clap::{Parser, Subcommand};

mod color;
mod demo;
mod serve;
mod test;

pub(crate) use color::Color;
pub(crate) use demo::DemoFlags;
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

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Answer clients, linerate or iperf3, on one port
    Serve(ServeFlags),
    /// Measure TCP and UDP, both ways, against a server
    Test(Box<TestFlags>),
    /// Make a link on this machine, of 1 Gbit/s unless told otherwise, and measure it
    Demo(DemoFlags),
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
  linerate demo                       no second host needed

Exit codes: 0 done; 1 the run failed; 2 usage; 5 the server was busy; 130 interrupted.";
