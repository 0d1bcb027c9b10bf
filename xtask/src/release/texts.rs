//! What the program says of itself: manual pages and completions.

use std::path::Path;

use anyhow::{Result, ensure};

use crate::command;
use crate::static_binary::{self, Target};

/// Its texts, each under the name that it is found by.
pub(super) struct Texts {
    /// `linerate.1`, and one for each command.
    pub(super) pages: Vec<(String, String)>,
    pub(super) bash: String,
    pub(super) fish: String,
    pub(super) zsh: String,
}

impl Texts {
    /// Asks a program, if need be in an emulator.
    pub(super) fn of(target: &Target, binary: &Path) -> Result<Self> {
        let ask = |arguments: &[&str]| {
            command::output(static_binary::program(target, binary).args(arguments))
        };
        let help = ask(&["--help"])?;
        let commands = commands(&help);
        ensure!(commands.contains(&"test"), "linerate --help does not list the commands");
        let mut pages = vec![("linerate.1".to_owned(), ask(&["man"])?)];
        for name in commands {
            pages.push((format!("linerate-{name}.1"), ask(&["man", name])?));
        }
        let completions = |shell| ask(&["completions", shell]);
        let (bash, fish, zsh) = (completions("bash")?, completions("fish")?, completions("zsh")?);
        Ok(Self { pages, bash, fish, zsh })
    }
}

/// The commands that a help lists: a word that is indented by two, until a line that is empty.
fn commands(help: &str) -> Vec<&str> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let words = listed.take_while(|line| !line.is_empty()).filter_map(|line| {
        let line = line.strip_prefix("  ")?;
        line.split(' ').next().filter(|word| !word.is_empty())
    });
    words.filter(|word| *word != "help").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_of_a_help_are_found() {
        let help = "Usage: x\n\nCommands:\n  serve  Answer\n         clients\n  test   Measure\n  \
                    help   Print\n\nOptions:\n  -h";
        assert_eq!(commands(help), ["serve", "test"]);
    }
}
