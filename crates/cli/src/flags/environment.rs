//! Environment variables: what is typed goes before them, and help tells of all in one place.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;

use clap::builder::FalseyValueParser;
use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, Command, Id};

/// The options of one command that the environment sets.
#[derive(Debug, Default)]
pub(super) struct Variables(Vec<Variable>);

#[derive(Debug)]
struct Variable {
    id: Id,
    /// The name of the variable.
    name: String,
    /// The option, or the value, as errors call it.
    option: String,
}

impl Variables {
    /// The variable that set an option; none: it was typed.
    pub(super) fn of(&self, option: &str) -> Option<&str> {
        let found = self.0.iter().find(|variable| variable.option == option);
        found.map(|variable| variable.name.as_str())
    }
}

/// Takes away the variables that contradict what was typed, or that mean nothing with it.
pub(super) fn settle(command: Command, arguments: &[OsString]) -> (Command, Variables) {
    let Some(name) = chosen(&command, arguments) else { return (command, Variables::default()) };
    let all = variables(&command, &name);
    if all.is_empty() {
        return (command, Variables::default());
    }
    let error_with = |kept: &[Id]| {
        let line = std::iter::once(OsString::from("linerate")).chain(arguments.iter().cloned());
        only(command.clone(), &name, kept).try_get_matches_from(line).err().map(|e| e.kind())
    };
    let without = error_with(&[]);
    let fits = |variable: &Variable| {
        let error = error_with(std::slice::from_ref(&variable.id));
        let contradicts =
            [Some(ErrorKind::ArgumentConflict), Some(ErrorKind::MissingRequiredArgument)];
        error == without || !contradicts.contains(&error)
    };
    let (kept, _): (Vec<_>, Vec<_>) = all.into_iter().partition(fits);
    let ids: Vec<_> = kept.iter().map(|variable| variable.id.clone()).collect();
    (only(command, &name, &ids), Variables(kept))
}

/// The command that was typed.
pub(super) fn chosen(command: &Command, arguments: &[OsString]) -> Option<String> {
    let found = arguments.iter().find_map(|argument| command.find_subcommand(argument));
    found.map(|command| command.get_name().to_owned())
}

/// The variables that are set, but for those that switch something off, which it is anyhow.
fn variables(command: &Command, name: &str) -> Vec<Variable> {
    let is_set = |arg: &Arg| arg.get_env().is_some_and(|name| std::env::var_os(name).is_some());
    if !command.find_subcommand(name).is_some_and(|sub| sub.get_arguments().any(is_set)) {
        return Vec::new();
    }
    // What an option is called is known of a command that was built.
    let mut built = command.clone();
    built.build();
    let sub = built.find_subcommand(name);
    let options = sub.into_iter().flat_map(Command::get_arguments);
    let counts = |arg: &&Arg| {
        let value = arg.get_env().and_then(std::env::var_os);
        let is_switch = matches!(arg.get_action(), ArgAction::SetTrue);
        let is_on = |value: &OsStr| FalseyValueParser::new().parse_ref(command, None, value);
        value.is_some_and(|value| !is_switch || is_on(&value).unwrap_or(true))
    };
    let variable = |arg: &Arg| Variable {
        id: arg.get_id().clone(),
        name: arg.get_env().unwrap_or_default().to_string_lossy().into_owned(),
        option: arg.to_string(),
    };
    options.filter(counts).map(variable).collect()
}

/// A command that reads no other variables than those of the options `kept`.
fn only(command: Command, name: &str, kept: &[Id]) -> Command {
    command.mut_subcommand(name, |sub| {
        sub.mut_args(|arg| if kept.contains(arg.get_id()) { arg } else { arg.env(None::<&str>) })
    })
}

/// Says how variables are named, in place of one after each option.
pub(super) fn describe(command: Command) -> Command {
    let with_variable = |arg: &&Arg| arg.get_env().is_some();
    let Some(example) = command.get_arguments().find(|arg| with_variable(arg) && is_regular(arg))
    else {
        return command;
    };
    let long = example.get_long().unwrap_or_default();
    let name = example.get_env().unwrap_or_default().to_string_lossy().into_owned();
    let mut text = format!(
        "Environment: {name} sets --{long}, and so for each option; what is typed goes first."
    );
    let others = command.get_arguments().filter(|arg| with_variable(arg) && !is_regular(arg));
    for other in others {
        let variable = other.get_env().unwrap_or_default().to_string_lossy();
        let what =
            other.get_long().map_or_else(|| "the server".to_owned(), |long| format!("--{long}"));
        _ = write!(text, " {variable}: {what}.");
    }
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    command.mut_args(|arg| arg.hide_env(true)).after_help(format!("{examples}\n\n{text}"))
}

/// Whether the variable has the name of the option.
fn is_regular(arg: &Arg) -> bool {
    let long = arg.get_long().map(|long| long.to_uppercase().replace('-', "_"));
    long.is_some_and(|long| arg.get_env().is_some_and(|name| *name == *format!("LINERATE_{long}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_names_every_variable_by_rule_or_by_name() {
        for command in super::super::command().get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
                let Some(name) = arg.get_env().map(|name| name.to_string_lossy()) else { continue };
                assert!(is_regular(arg) || help.contains(&format!(" {name}: ")), "{name}");
                assert!(help.contains("what is typed goes first") && arg.is_hide_env_set());
            }
        }
    }
}
