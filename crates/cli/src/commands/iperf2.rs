//! `linerate iperf`, and a link to linerate that is named `iperf`: the command line and the text of
//! iperf 2.1.8.

use std::ffi::OsString;
use std::process::ExitCode;

mod arguments;
mod back;
mod client;
mod getopt;
mod plan;
mod server;
mod values;
mod words;

use self::arguments::{Arguments, Asked};

/// Does what iperf would do with these arguments; its own name is not among them.
pub(crate) fn run(arguments: Vec<OsString>) -> ExitCode {
    match Arguments::read(arguments) {
        Ok(Asked::Help) => print(words::HELP),
        Ok(Asked::Version) => print(&format!("{}\n", report::iperf2::VERSION)),
        Ok(Asked::Run(arguments)) if arguments.server => server::run(&arguments),
        Ok(Asked::Run(arguments)) => client::run(&arguments),
        Err(wrong) => words::refuse(&wrong),
    }
}

fn print(text: &str) -> ExitCode {
    match crate::output::print_text(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
