//! What is wrong with a command line, in one sentence that says what to type.

use std::error::Error as _;
use std::net::{AddrParseError, IpAddr};
use std::num::ParseIntError;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Error};
use measurement::is_shown;

use super::environment::Variables;
use super::habits;

/// Where an error happened.
pub(super) struct Place<'a> {
    /// The command that was typed; empty: none.
    pub(super) command: &'a str,
    pub(super) definition: &'a Command,
    pub(super) variables: &'a Variables,
}

impl Place<'_> {
    /// The error with our sentence in place of clap's text. Help stays as it is.
    pub(super) fn explain(&self, error: Error) -> Error {
        let told = match error.kind() {
            ErrorKind::UnknownArgument => self.unknown_option(&error),
            // A server's host, where its list of tests could be asked for.
            ErrorKind::InvalidSubcommand if self.command == "serve" => {
                first(&error, ContextKind::InvalidSubcommand).map(|word| self.unexpected(word))
            }
            ErrorKind::InvalidSubcommand => unknown_command(&error),
            ErrorKind::InvalidValue => self.unknown_value(&error),
            ErrorKind::ValueValidation => self.wrong_value(&error),
            ErrorKind::ArgumentConflict => self.contradiction(&error),
            ErrorKind::MissingRequiredArgument => self.missing(&error),
            _ => None,
        };
        match told {
            Some(told) => Error::raw(error.kind(), told),
            None => error,
        }
    }

    fn unknown_option(&self, error: &Error) -> Option<String> {
        let option = first(error, ContextKind::InvalidArg)?;
        let name = option.split('=').next().unwrap_or_default();
        if let Some(told) = habits::instead(self.command, name) {
            return Some(told);
        }
        let help = format!("{} --help", self.typed());
        Some(if !option.starts_with('-') {
            self.unexpected(option)
        } else if let Some(near) = first(error, ContextKind::SuggestedArg) {
            format!("there is no option '{name}': did you mean '{}'?", near.trim())
        } else {
            format!("there is no option '{}': see {help}", cut(name))
        })
    }

    /// A word that no place is left for.
    fn unexpected(&self, word: &str) -> String {
        let word = cut(word);
        match self.command {
            "serve" if word.parse::<IpAddr>().is_ok() => {
                format!("linerate serve takes no host: type --bind {word} to listen there only")
            }
            "serve" => format!("linerate serve takes no '{word}': type linerate test {word}"),
            command if has_server(self.definition, command) => {
                format!("'{word}' is one host too many: type one, and options with - in front")
            }
            _ => format!("'{word}' is one word too many: see {} --help", self.typed()),
        }
    }

    fn unknown_value(&self, error: &Error) -> Option<String> {
        let option = first(error, ContextKind::InvalidArg)?;
        let value = first(error, ContextKind::InvalidValue).unwrap_or_default();
        if value.is_empty() {
            let typed = option.replace(['<', '>'], "");
            return Some(format!("{} needs a value: type {typed}", short_name(option)));
        }
        let (name, value) = (self.name(option), cut(value));
        if option.starts_with("--format") && is_unit_of_iperf3(&value) {
            return Some(format!(
                "{name} {value} is iperf3's: type linerate iperf3 -c HOST -f {value}"
            ));
        }
        let known = list(&all(error, ContextKind::ValidValue));
        if option == "<SHELL>" {
            return Some(format!("there are no completions for '{value}': type {known}"));
        }
        if let Some(near) = first(error, ContextKind::SuggestedValue) {
            return Some(format!("{name}: there is no '{value}': did you mean '{near}'?"));
        }
        let told = format!("{name}: there is no '{value}': type {known}");
        let see = format!("{name}: there is no '{value}': see {} --help", self.typed());
        Some(if told.len() <= MOST_LENGTH { told } else { see })
    }

    fn wrong_value(&self, error: &Error) -> Option<String> {
        let option = first(error, ContextKind::InvalidArg)?;
        let name = self.name(option);
        let value = cut(first(error, ContextKind::InvalidValue).unwrap_or_default());
        let source = error.source()?;
        let text = source.to_string();
        let range = text.split_once(" is not in ").and_then(|(_, range)| bounds(range));
        Some(if source.is::<ParseIntError>() || text.starts_with("invalid digit") {
            format!("{name}: '{value}' is not a whole number")
        } else if source.is::<AddrParseError>() {
            format!(
                "{name}: '{value}' is not an IP address: type one of those that ip address shows"
            )
        } else if let Some(range) = range {
            format!("{name} cannot be '{value}': choose {range}")
        } else if option.contains("HOST") {
            // It says itself which part of it is wrong.
            text
        } else if value.is_empty() {
            format!("{name} needs a value: {text}")
        } else if text.contains(&format!("'{value}'")) {
            format!("{name}: {text}")
        } else {
            format!("{name} cannot be '{value}': {text}")
        })
    }

    fn contradiction(&self, error: &Error) -> Option<String> {
        let one = first(error, ContextKind::InvalidArg)?;
        let other = first(error, ContextKind::PriorArg)?;
        let variable = |option| self.variables.of(option);
        Some(match (variable(one), variable(other)) {
            (Some(one), Some(other)) => {
                format!("{one} and {other} contradict each other: unset one")
            }
            _ if one.contains("HOST") && other.contains("HOST") => "two hosts: type one".to_owned(),
            _ => {
                let (one, other) = (short_name(one), short_name(other));
                format!("'{one}' and '{other}' contradict each other: choose one")
            }
        })
    }

    fn missing(&self, error: &Error) -> Option<String> {
        let what = first(error, ContextKind::InvalidArg)?;
        let typed = self.typed();
        Some(match what {
            "<SHELL>" => format!("a shell is missing: type {typed} bash"),
            _ if what.contains("HOST") && !what.starts_with("--") => {
                format!("a host is missing: type {typed} HOST")
            }
            _ => format!("{what} is missing: type {typed} {}", self.required(what)),
        })
    }

    /// All that the command cannot do without, and `missing`, as its usage has it.
    fn required(&self, missing: &str) -> String {
        let mut definition = self.definition.clone();
        // Only then arguments know how they are written.
        definition.build();
        let mut names = self.command.split_whitespace();
        let command = names.try_fold(&definition, |of, name| of.find_subcommand(name));
        let arguments = || command.into_iter().flat_map(Command::get_arguments);
        let required = arguments().filter(|arg| arg.is_required_set()).map(ToString::to_string);
        let mut all: Vec<_> = required.collect();
        if !all.iter().any(|one| one == missing) {
            all.push(missing.to_owned());
        }
        all.extend(arguments().any(|arg| arg.get_id() == "host").then(|| "HOST".to_owned()));
        all.join(" ")
    }

    /// The option as it was typed, or the variable that set it.
    fn name(&self, option: &str) -> String {
        self.variables.of(option).map_or_else(|| short_name(option), str::to_owned)
    }

    /// The program with its command.
    fn typed(&self) -> String {
        format!("linerate {}", self.command).trim_end().to_owned()
    }
}

fn unknown_command(error: &Error) -> Option<String> {
    let word = cut(first(error, ContextKind::InvalidSubcommand)?);
    let near = first(error, ContextKind::SuggestedSubcommand);
    // It writes settings: nobody is led there by a word that is as near to others.
    let near = near.filter(|near| *near != "undo" || word.starts_with('u'));
    Some(match near {
        Some(near) => format!("there is no command '{word}': did you mean linerate {near}?"),
        None if word.contains(['.', ':']) => {
            format!("there is no command '{word}': type linerate test {word}")
        }
        None => format!("there is no command '{word}': see linerate -h"),
    })
}

fn has_server(definition: &Command, command: &str) -> bool {
    let sub = definition.find_subcommand(command);
    sub.is_some_and(|sub| sub.get_arguments().any(|arg: &Arg| arg.get_id() == "client"))
}

/// Without the name of the value: `--rate`; of a value by itself its name.
fn short_name(option: &str) -> String {
    let name = option.split([' ', '=']).next().unwrap_or_default();
    if name.starts_with('-') {
        return name.to_owned();
    }
    option.trim_matches(['<', '>', '[', ']', '.']).to_owned()
}

/// `1..=9` in words.
fn bounds(range: &str) -> Option<String> {
    let (least, most) = range.split_once("..")?;
    Some(match most.strip_prefix('=').unwrap_or(most) {
        "" => format!("{least} or more"),
        most => format!("between {least} and {most}"),
    })
}

fn is_unit_of_iperf3(value: &str) -> bool {
    value.len() == 1 && "kmgtKMGT".contains(value)
}

/// `a, b or c`.
fn list(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
    }
}

/// No more of an input than a sentence has room for, and nothing that does something to a terminal.
fn cut(text: &str) -> String {
    let shown: String = text.chars().map(|c| if is_shown(c) { c } else { '?' }).collect();
    if shown.chars().count() <= MOST_SHOWN {
        return shown;
    }
    shown.chars().take(MOST_SHOWN - 3).chain("...".chars()).collect()
}

fn first(error: &Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text),
        ContextValue::Strings(texts) => texts.first().map(String::as_str),
        _ => None,
    }
}

fn all(error: &Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    }
}

const MOST_SHOWN: usize = 32;
/// Of a sentence, with the name of the program in front.
const MOST_LENGTH: usize = 90;
