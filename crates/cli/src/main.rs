//! `linerate`: measures a network path, and names what limits it.

#![forbid(unsafe_code)]

use std::path::Path;
use std::process::ExitCode;

mod charset;
mod commands;
mod conclusion;
mod exit;
mod flags;
mod form;
#[cfg(feature = "full")]
mod history;
#[cfg(not(feature = "full"))]
#[path = "no_history.rs"]
mod history;
mod http;
mod intervals;
mod lines;
mod metrics;
mod moving_line;
#[cfg(feature = "full")]
mod mqtt;
mod one_row;
mod output;
mod plan;
mod progress;
mod recorded;
mod results;
mod rows;
mod shared_key;
mod stream;
mod terminal;
mod typed;
mod whole_file;

#[cfg(feature = "full")]
use flags::FramesCommand;
use flags::{Arguments, Command};
use measurement::RecordSet;
use measurement::record::RunError;

/// That of musl asks the kernel for each few pages, and gives them back: thousands of calls at the
/// start.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    linux::process::ignore_file_size_signal();
    linux::names::look_up_without_modules();
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_default();
    // A link with that name is the drop-in.
    match Path::new(&name).file_name().and_then(|name| name.to_str()) {
        Some("iperf3") => return commands::iperf3::run(arguments.collect()),
        Some("iperf") => return commands::iperf2::run(arguments.collect()),
        _ => {}
    }
    let result = match Arguments::read(arguments.collect()) {
        Ok(arguments) => run(arguments),
        Err(error) => return exit::of_usage(&error).unwrap_or_else(fail),
    };
    result.unwrap_or_else(|error| fail(exit::of_command(&error)))
}

/// Prints an error as one sentence on standard error; to programs, as JSON on standard output too.
fn fail(error: RunError) -> ExitCode {
    let code = exit::complain(&error);
    if flags::format::asked_for_json() {
        output::print_error(&RecordSet::failed(error));
    }
    code
}

#[expect(clippy::too_many_lines, reason = "a line for each command")]
fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    arguments.common.color.apply();
    match arguments.command {
        Command::Serve(flags) => commands::serve::run(&flags),
        Command::Probe(flags) => commands::probe::run(&flags),
        Command::Test(flags) => commands::test::run(&flags),
        Command::Latency(flags) => commands::latency::run(&flags),
        Command::Search(flags) => commands::search::run(&flags),
        #[cfg(feature = "full")]
        Command::Ladder(flags) => commands::ladder::run(&flags),
        #[cfg(feature = "full")]
        Command::Frames(FramesCommand::Packets(flags)) => commands::packets::run(&flags),
        #[cfg(feature = "full")]
        Command::Frames(FramesCommand::Dut(flags)) => commands::dut::run(&flags),
        Command::Copy(flags) => commands::copy::run(&flags),
        #[cfg(feature = "full")]
        Command::Ab(flags) => commands::ab::run(&flags),
        Command::Tune(flags) => commands::tune::run(&flags),
        Command::Watchdog { state } => Ok(commands::tune::watchdog(&state)),
        Command::TuneHelper { state, key, kinds } => {
            Ok(commands::serve::tune_helper(&state, &key, &kinds))
        }
        #[cfg(feature = "full")]
        Command::Sweep(mut flags) => commands::sweep::run(&mut flags),
        #[cfg(feature = "full")]
        Command::Mesh(flags) => commands::mesh::run(&flags),
        #[cfg(feature = "full")]
        Command::MeshAgent => Ok(commands::mesh_agent::run()),
        #[cfg(feature = "full")]
        Command::Demo(flags) => commands::demo::run(&flags),
        Command::Diagnose(flags) => commands::diagnose::run(&flags),
        Command::Explain(flags) => commands::explain::run(&flags),
        #[cfg(feature = "full")]
        Command::Import(flags) => commands::import::run(&flags),
        #[cfg(feature = "full")]
        Command::Compare(flags) => commands::compare::run(&flags),
        #[cfg(feature = "full")]
        Command::Report(flags) => commands::report::run(&flags),
        #[cfg(feature = "full")]
        Command::Past(command) => commands::history::past(command),
        Command::Host(flags) => commands::host::run(&flags),
        Command::Capture(flags) => commands::capture::run(&flags),
        Command::Key(flags) => commands::key::run(&flags),
        Command::Undo(flags) => commands::undo::run(&flags),
        #[cfg(feature = "full")]
        Command::Calc(flags) => commands::calc::run(&flags),
        Command::Iperf { arguments } => Ok(commands::iperf2::run(arguments)),
        Command::Iperf3 { arguments } => Ok(commands::iperf3::run(arguments)),
        #[cfg(feature = "full")]
        Command::Completions { shell, name } => commands::completions::run(shell, &name),
        #[cfg(feature = "full")]
        Command::Man { command } => commands::man::run(command.as_deref()),
    }
}
