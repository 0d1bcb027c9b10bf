//! `linerate man`: a page for each command, and one with all of them.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::exit::UsageError;
use crate::flags::{self, Iperf3Flags};
use crate::output;

/// The page of one command; none: of the program.
pub(crate) fn run(command: Option<&str>) -> anyhow::Result<ExitCode> {
    let mut program = flags::command();
    program.build();
    let mut page = Vec::new();
    match command {
        None => write_program(&program, &mut page)?,
        Some("iperf3") => write_command(&iperf3(), &mut page)?,
        Some(name) => {
            let found = program.find_subcommand(name).filter(|_| name != "help");
            let unknown = || UsageError(format!("there is no command '{name}': see linerate -h"));
            write_command(found.ok_or_else(unknown)?, &mut page)?;
        }
    }
    output::print_text(&page)?;
    Ok(ExitCode::SUCCESS)
}

/// One command, as git and others name such pages: linerate-test(1).
fn write_command(command: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    write_beginning(command, page)?;
    write_sections(command, &format!("linerate {}", command.get_name()), page)?;
    write_examples(command, page)
}

/// Every command with its options, in sections of one page.
fn write_program(program: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    write_beginning(program, page)?;
    write_sections(program, "linerate", page)?;
    write_examples(program, page)
}

/// A section for each command below one that is typed as `path`.
fn write_sections(command: &Command, path: &str, page: &mut Vec<u8>) -> io::Result<()> {
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        let path = format!("{path} {}", sub.get_name());
        writeln!(page, ".SH {}", path.to_uppercase())?;
        let man = Man::new(sub.clone());
        man.render_description_section(page)?;
        man.render_options_section(page)?;
        write_text(sub, page)?;
        write_sections(sub, &path, page)?;
    }
    Ok(())
}

fn write_beginning(command: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    let man = Man::new(command.clone());
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    // Title, section, date, source (man(7)); clap_mangen leaves an empty date out.
    writeln!(page, ".TH {name} 1 \"\" \"{SOURCE}\"")?;
    man.render_name_section(page)?;
    man.render_synopsis_section(page)?;
    man.render_description_section(page)?;
    man.render_options_section(page)
}

fn write_examples(command: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    writeln!(page, ".SH EXAMPLES")?;
    write_text(command, page)
}

/// Examples and what else stands below the options, line by line (roff(7)).
fn write_text(command: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    writeln!(page, ".PP\n.nf")?;
    for line in text.trim().lines() {
        // \& in front: a line that begins with a full stop is no request.
        writeln!(page, "\\&{}", line.replace('\\', "\\e").replace('-', "\\-"))?;
    }
    writeln!(page, ".fi")
}

fn iperf3() -> Command {
    let mut command = Iperf3Flags::command()
        .about("Does what iperf3 does, as client or as server")
        .display_name("linerate-iperf3")
        .bin_name("linerate iperf3");
    command.build();
    command
}

/// The package that the pages are of.
const SOURCE: &str = concat!("linerate ", env!("CARGO_PKG_VERSION"));
