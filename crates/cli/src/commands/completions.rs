//! `linerate completions`.

mod values;

use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::{Command, CommandFactory};
use clap_complete::Shell;

use crate::flags::{self, Iperf3Flags};
use crate::output;

/// The script of one shell, for the program or for a link named `iperf3`.
pub(crate) fn run(shell: Shell, name: &str) -> anyhow::Result<ExitCode> {
    let mut definition = if name == IPERF3 { Iperf3Flags::command() } else { program(shell) };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut definition, name, &mut script);
    let script = values::added(&String::from_utf8(script)?, shell, &definition);
    output::print_text(script.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// The command line, with words that it takes as text but that are known.
fn program(shell: Shell) -> Command {
    let program = flags::command();
    let name_of = |sub: &Command| (forever(sub.get_name()), String::new());
    let commands: Vec<_> = program.get_subcommands().map(name_of).collect();
    let pages = campaign::rules();
    let mut rules: Vec<_> =
        pages.iter().map(|page| (page.id.slug(), page.title.to_owned())).collect();
    rules.push(("last", "The last run".to_owned()));
    program
        .mut_subcommand("explain", |explain| know(explain, "what", rules, shell))
        .mut_subcommand("man", |man| know(man, "command", commands, shell))
        .mut_subcommand(IPERF3, |sub| {
            let about = sub.get_about().cloned().unwrap_or_default();
            Iperf3Flags::command().about(about).bin_name("linerate iperf3")
        })
}

/// A command that knows the words for an argument, each with what it is.
fn know(
    command: Command,
    argument: &str,
    words: Vec<(&'static str, String)>,
    shell: Shell,
) -> Command {
    match shell {
        Shell::Bash | Shell::Zsh => command.mut_arg(argument, |arg| {
            let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            arg.value_parser(PossibleValuesParser::new(words))
        }),
        // Of the others clap completes no arguments, but commands.
        _ => command.disable_help_subcommand(true).subcommands(words.into_iter().map(
            |(word, about)| {
                let command = Command::new(word).about(about);
                command.disable_help_flag(true).disable_version_flag(true)
            },
        )),
    }
}

/// clap takes words that live as long as the program, which ends behind this.
fn forever(word: &str) -> &'static str {
    word.to_owned().leak()
}

const IPERF3: &str = "iperf3";
