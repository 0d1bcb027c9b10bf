//! `linerate man`: one page with every command.

use std::io::Write;
use std::process::ExitCode;

use clap::CommandFactory;
use clap_mangen::Man;

use crate::flags::Arguments;
use crate::output;

pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let mut page = Vec::new();
    let mut command = Arguments::command();
    command.build();
    Man::new(command.clone()).render(&mut page)?;
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        let title = format!("linerate {}", sub.get_name()).to_uppercase();
        writeln!(page, ".SH {title}")?;
        let man = Man::new(sub.clone());
        man.render_description_section(&mut page)?;
        man.render_options_section(&mut page)?;
    }
    output::print_text(&page)?;
    Ok(ExitCode::SUCCESS)
}
