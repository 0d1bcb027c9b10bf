//! `linerate completions`.

use std::process::ExitCode;

use clap::CommandFactory;

use crate::flags::Arguments;

pub(crate) fn run(shell: clap_complete::Shell) -> ExitCode {
    clap_complete::generate(shell, &mut Arguments::command(), "linerate", &mut std::io::stdout());
    ExitCode::SUCCESS
}
