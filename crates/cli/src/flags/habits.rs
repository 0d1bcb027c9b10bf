//! What users of iperf3 type out of habit: names of options that are taken for ours, and for the
//! others one sentence with what to type instead.

use std::ffi::OsString;

use clap::{Arg, ArgAction, Command, CommandFactory};

use super::Iperf3Flags;

/// Puts the command in front that `-c HOST` and `-s` stand for, if none is there.
pub(super) fn with_command(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let text = |argument: &OsString| argument.to_string_lossy().into_owned();
    let Some(first) = arguments.first().map(text) else { return arguments };
    if first == "-v" {
        // As iperf3 tells its version.
        arguments[0] = "--version".into();
        return arguments;
    }
    if first == "help" {
        // `linerate help --help`, `linerate help test -h`.
        arguments.retain(|argument| !matches!(text(argument).as_str(), "-h" | "--help"));
        return arguments;
    }
    if !first.starts_with('-') || OWN.iter().any(|own| first.starts_with(own)) {
        return arguments;
    }
    let is_client = |argument: &str| {
        argument == "--client"
            || argument.starts_with("--client=")
            || (argument.starts_with("-c") && !argument.starts_with("--"))
    };
    let is_server = |argument: &str| matches!(argument, "-s" | "--server");
    if arguments.iter().any(|argument| is_client(&text(argument))) {
        arguments.insert(0, "test".into());
    } else if let Some(at) = arguments.iter().position(|argument| is_server(&text(argument))) {
        arguments.remove(at);
        arguments.insert(0, "serve".into());
    }
    arguments
}

/// Adds iperf3's names to the options of a command that mean the same, and takes what is always so.
pub(super) fn add_names(mut command: Command) -> Command {
    for (id, names) in NAMES {
        let names = names.iter().copied();
        if has(&command, id) {
            command = command.mut_arg(id, |arg| arg.aliases(names));
        }
    }
    if has(&command, "json") {
        command = command.mut_arg("json", |arg| arg.short('J'));
    }
    command = with_long_version(command);
    if has(&command, "verbose") {
        command = command.mut_arg("verbose", |arg| arg.short_alias('V'));
    }
    let name = command.get_name().to_owned();
    let no_effect = NO_EFFECT.iter().filter(|(of, ..)| *of == name);
    for (_, long, short) in no_effect {
        let arg = Arg::new(*long).long(*long).action(ArgAction::SetTrue).hide(true);
        command = command.arg(if let Some(short) = short { arg.short(*short) } else { arg });
    }
    command
}

/// -V is iperf3's --verbose; behind a command the version has its long name only.
fn with_long_version(command: Command) -> Command {
    let version = Arg::new("version").long("version").action(ArgAction::Version);
    command
        .disable_version_flag(true)
        .arg(version.help("Print version").help_heading(None::<&str>))
        .mut_subcommands(with_long_version)
}

fn has(command: &Command, id: &str) -> bool {
    command.get_arguments().any(|arg| arg.get_id() == id)
}

/// What to type in place of an option that `command` has not; none: nobody else has it either.
pub(super) fn instead(command: &str, option: &str) -> Option<String> {
    let mut told = INSTEAD.iter().filter(|(commands, ..)| commands.contains(&command));
    if let Some((_, _, words)) = told.find(|(_, options, _)| options.contains(&option)) {
        return Some(format!("{option}: {words}"));
    }
    if option == "-V" {
        return Some("-V: type linerate --version for the version".to_owned());
    }
    let own = super::command();
    let of_test = own.find_subcommand(TEST).and_then(|test| named(test, option));
    if let (LATENCY | SEARCH | LADDER | DIAGNOSE, Some(arg)) = (command, of_test) {
        return Some(format!("type linerate test HOST {}", typed(arg, option)));
    }
    let theirs = Iperf3Flags::command();
    let arg = named(&theirs, option)?;
    let (heading, typed) = (arg.get_help_heading().unwrap_or_default(), typed(arg, option));
    Some(match (command, heading) {
        (SERVE, "Client only") => format!("that is for clients: type linerate test HOST {typed}"),
        (TEST | LATENCY | SEARCH | LADDER | DIAGNOSE, "Server only") => {
            format!("that is for servers: type linerate iperf3 -s {typed}")
        }
        (TEST | LATENCY | SEARCH | LADDER | DIAGNOSE, _) => {
            format!("that is an option of iperf3: type linerate iperf3 -c HOST {typed}")
        }
        (SERVE, _) => format!("that is an option of iperf3: type linerate iperf3 -s {typed}"),
        ("", _) => format!("a command is missing in front: type linerate test HOST {typed}"),
        _ => return None,
    })
}

fn named<'a>(command: &'a Command, option: &str) -> Option<&'a Arg> {
    command.get_arguments().find(|arg| !arg.is_hide_set() && is_named(arg, option))
}

/// The option as it is typed, with the name of its value.
fn typed(arg: &Arg, option: &str) -> String {
    let has_value = arg.get_action().takes_values() && !arg.is_require_equals_set();
    let value = arg.get_value_names().and_then(<[_]>::first).filter(|_| has_value);
    value.map_or_else(|| option.to_owned(), |value| format!("{option} {value}"))
}

fn is_named(arg: &Arg, option: &str) -> bool {
    let long = option.strip_prefix("--");
    let longs = arg.get_all_aliases().unwrap_or_default();
    let short = option.strip_prefix('-').filter(|rest| rest.len() == 1);
    let mut shorts = arg.get_short_and_visible_aliases().unwrap_or_default().into_iter();
    long.is_some_and(|long| arg.get_long() == Some(long) || longs.contains(&long))
        || short.is_some_and(|short| shorts.any(|own| short.starts_with(own)))
}

const TEST: &str = "test";
const LATENCY: &str = "latency";
const DIAGNOSE: &str = "diagnose";
const SERVE: &str = "serve";
const SEARCH: &str = "search";
const LADDER: &str = "ladder";
const CLIENTS: &[&str] = &[TEST, LATENCY, SEARCH, LADDER, DIAGNOSE];
/// Options of the program itself.
const OWN: [&str; 5] = ["-h", "--help", "-V", "--version", "--color"];

/// Our options, and what iperf3 calls them.
const NAMES: [(&str, &[&str]); 7] = [
    ("rate", &["bitrate", "bandwidth"]),
    ("streams", &["parallel"]),
    ("receive", &["reverse"]),
    ("mss", &["set-mss"]),
    ("blocks", &["blockcount"]),
    ("ipv4", &["version4"]),
    ("ipv6", &["version6"]),
];

/// Options of iperf3 that ask for what is always so here: the command, their names.
const NO_EFFECT: [(&str, &str, Option<char>); 8] = [
    (TEST, "forceflush", None),
    (LATENCY, "forceflush", None),
    (SEARCH, "forceflush", None),
    (LADDER, "forceflush", None),
    (SEARCH, "udp", Some('u')),
    (SERVE, "forceflush", None),
    (SERVE, "server", Some('s')),
    (TEST, "udp-counters-64bit", None),
];

/// Commands, options, and what to type in place of them.
const INSTEAD: &[(&[&str], &[&str], &str)] = &[
    (CLIENTS, &["-s", "--server"], "type linerate serve on the server"),
    (CLIENTS, &["--sctp", "-X", "--xbind", "--nstreams"], "there is no SCTP: leave it out"),
    (CLIENTS, &["--logfile"], "type > FILE at the end, or --output FILE for the record as JSON"),
    (&[SEARCH], &["-t", "--time"], "type --budget for all trials, --final-trial for one"),
    (
        &[SEARCH],
        &["-b", "--rate", "--bitrate", "--bandwidth"],
        "type --max-rate for a highest load",
    ),
    (&[SEARCH], &["--bidir"], "type -R for the other direction; both at once have no one load"),
    (&[LATENCY, SEARCH, LADDER, DIAGNOSE], &["-f"], "units follow the size; type --json for bit/s"),
    (&[TEST], &["-d", "--debug", "--dualtest"], "type --bidir for both directions, -v for details"),
    (&[TEST], &["-r", "--tradeoff"], "leave it out: without --bidir directions run in turn"),
    (&[TEST], &["--gsro"], "type --engine gso,gro"),
    (&[TEST], &["--skip-rx-copy"], "type --engine msg-trunc"),
    (&[TEST, LATENCY, SEARCH, LADDER], &["-T", "--title", "--extra-data"], "type --tag title=TEXT"),
    (
        &[TEST, LATENCY, SEARCH],
        &["-A", "--affinity"],
        "type --cpus 2, or linerate iperf3 -c HOST -A 2,3",
    ),
    (&[LATENCY], &["-b", "--rate", "--bitrate"], "type --every 1ms for a rate of requests"),
    (&[LATENCY], &["-l", "--length"], "type --request SIZE and --response SIZE"),
    (&[SERVE], &["-D", "--daemon"], "type linerate serve & or run it as a systemd service"),
    (&[SERVE], &["-A", "--affinity"], "type --cpus 2"),
    (&[SERVE], &["--logfile"], "type > FILE at the end"),
    (&[SERVE], &["--server-bitrate-limit"], "type --max-rate 1G"),
    (&[SERVE], &["--server-max-duration"], "type --max-time 60s"),
    (&[SERVE], &["-c", "--client"], "type linerate test HOST"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(line: &str) -> String {
        let arguments = line.split_whitespace().map(OsString::from).collect();
        let words = with_command(arguments);
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }

    #[test]
    fn a_role_stands_for_a_command() {
        assert_eq!(rewritten("-c here -t 5"), "test -c here -t 5");
        assert_eq!(rewritten("-u -b 1M --client=here"), "test -u -b 1M --client=here");
        assert_eq!(rewritten("-chere"), "test -chere");
        assert_eq!(rewritten("-s -p 7"), "serve -p 7");
        assert_eq!(rewritten("-p 7 --server"), "serve -p 7");
        assert_eq!(rewritten("-v"), "--version");
        assert_eq!(rewritten("help --help"), "help");
        assert_eq!(rewritten("help test -h"), "help test");
        for unchanged in ["", "test -c here", "serve", "-h", "--color never test h", "iperf3 -s"] {
            assert_eq!(rewritten(unchanged), unchanged);
        }
    }

    #[test]
    fn every_option_of_an_iperf3_client_is_taken_or_told_of() {
        let own = super::super::command();
        let theirs = Iperf3Flags::command();
        for name in CLIENTS {
            let command = own.find_subcommand(name).expect("a command");
            for long in theirs.get_arguments().filter_map(Arg::get_long) {
                let option = format!("--{long}");
                let is_taken = command.get_arguments().any(|arg| is_named(arg, &option));
                let told = instead(name, &option);
                assert!(is_taken || long == "help" || told.is_some(), "{name} {option}");
                assert!(told.is_none_or(|told| told.len() <= 90), "{name} {option}");
            }
        }
    }

    #[test]
    fn what_is_typed_instead_is_an_option_that_there_is() {
        let own = super::super::command();
        for (commands, options, words) in INSTEAD {
            for name in *commands {
                let command = own.find_subcommand(name).expect("a command");
                let known = |option: &str| command.get_arguments().any(|arg| is_named(arg, option));
                assert_eq!(options.iter().find(|option| known(option)), None, "{name} has it");
                // What stands behind another command is for that.
                let ours = words.split("linerate ").next().unwrap_or_default();
                let mut typed = ours.split([' ', ',']).filter(|word| word.starts_with('-'));
                assert_eq!(typed.find(|option| !known(option)), None, "{name}: {words}");
                assert!(words.len() <= 90, "{words}");
            }
        }
    }
}
