//! `linerate`: measures how fast a Linux box really moves packets.

#![forbid(unsafe_code)]

use std::path::Path;
use std::process::ExitCode;

mod charset;
mod commands;
mod exit;
mod flags;
mod lines;
mod output;
mod plan;
mod progress;
mod results;

use flags::{Arguments, Command};

fn main() -> ExitCode {
    linux::process::ignore_file_size_signal();
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_default();
    // A link with that name is the drop-in.
    if Path::new(&name).file_name().is_some_and(|name| name == "iperf3") {
        return commands::iperf3::run(arguments.collect());
    }
    let result = match Arguments::read() {
        Ok(arguments) => run(arguments),
        Err(error) => return exit::report_usage(&error),
    };
    result.unwrap_or_else(|error| exit::report(&error))
}

fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    arguments.color.apply();
    match arguments.command {
        Command::Serve(flags) => commands::serve::run(&flags),
        Command::Test(flags) => commands::test::run(&flags),
        Command::Latency(flags) => commands::latency::run(&flags),
        Command::Demo(flags) => commands::demo::run(&flags),
        Command::Diagnose(flags) => commands::diagnose::run(&flags),
        Command::Explain(flags) => commands::explain::run(&flags),
        Command::Host(flags) => commands::host::run(&flags),
        Command::Capture(flags) => commands::capture::run(&flags),
        Command::Iperf3 { arguments } => Ok(commands::iperf3::run(arguments)),
        Command::Completions { shell } => commands::completions::run(shell),
        Command::Man => commands::man::run(),
    }
}
