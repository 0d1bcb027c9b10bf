//! `linerate completions`.

use std::process::ExitCode;

use clap::CommandFactory;

use crate::flags::Arguments;
use crate::output;

pub(crate) fn run(shell: clap_complete::Shell) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "linerate", &mut script);
    output::print_text(&script)?;
    Ok(ExitCode::SUCCESS)
}
