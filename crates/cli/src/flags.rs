//! The command line as it was typed.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{
    Arg, ArgGroup, ArgMatches, Args, CommandFactory, Error, FromArgMatches, Parser, Subcommand,
};

#[cfg(feature = "full")]
mod ab;
mod brief;
mod c_numbers;
#[cfg(feature = "full")]
mod calc;
mod capture;
mod color;
#[cfg(feature = "full")]
mod compare;
mod copy;
mod cpus;
#[cfg(feature = "full")]
mod demo;
mod diagnose;
#[cfg(feature = "full")]
mod dut;
pub(crate) mod engines;
mod environment;
mod explain;
pub(crate) mod format;
#[cfg(feature = "full")]
mod frames;
mod habits;
#[cfg(feature = "full")]
mod history;
mod host;
#[cfg(feature = "full")]
mod import;
mod iperf3;
pub(crate) mod iperf3_values;
#[cfg(feature = "full")]
mod kept;
mod key;
#[cfg(feature = "full")]
mod ladder;
mod latency;
#[cfg(feature = "full")]
mod mesh;
#[cfg(feature = "full")]
mod mesh_job;
#[cfg(feature = "full")]
mod mesh_ssh;
mod output;
mod packets;
#[cfg(feature = "full")]
pub(crate) mod points;
mod probe;
mod profile;
mod refusal;
#[cfg(feature = "full")]
mod report;
mod requirements;
mod search;
mod serve;
mod serve_access;
mod serve_status;
mod serve_tune;
mod server;
#[cfg(feature = "full")]
mod store;
#[cfg(not(feature = "full"))]
#[path = "flags/no_store.rs"]
mod store;
#[cfg(feature = "full")]
mod sweep;
#[cfg(feature = "full")]
pub(crate) mod sweep_axis;
mod test;
mod tune;
mod undo;
mod values;
mod width;

use refusal::Place;
use server::SERVER;

pub(crate) use capture::CaptureFlags;
pub(crate) use color::Color;
pub(crate) use copy::CopyFlags;
pub(crate) use diagnose::DiagnoseFlags;
pub(crate) use explain::ExplainFlags;
pub(crate) use host::HostFlags;
pub(crate) use iperf3::{GivenRoles, Iperf3Flags};
pub(crate) use key::{KeyAction, KeyFlags};
pub(crate) use latency::{LatencyFlags, LatencyRow};
pub(crate) use probe::{Allowed, ProbeFlags};
pub(crate) use search::SearchFlags;
pub(crate) use serve::ServeFlags;
pub(crate) use serve_status::{ServeAction, StatusFlags};
pub(crate) use serve_tune::TuneServeFlags;
pub(crate) use test::TestFlags;
pub(crate) use tune::TuneFlags;
pub(crate) use undo::UndoFlags;
#[cfg(feature = "full")]
pub(crate) use {
    ab::AbFlags,
    calc::{CalcFlags, Calculation, FragmentsFlags, GoodputFlags, Mtus, PacketsFlags, TsoFlags},
    compare::{CompareFlags, ComparisonFormat},
    demo::{DemoDevice, DemoFlags},
    dut::{Directions, DutFlags},
    frames::{Engine, FramesFlags, LinkFlags},
    history::{By, HistoryFlags},
    import::ImportFlags,
    kept::{ExportFlags, ShowFlags, TagFlags},
    ladder::LadderFlags,
    mesh::MeshFlags,
    report::ReportFlags,
    sweep::SweepFlags,
};

/// Measures a network path, names what limits it, and says whether to trust the number. The other
/// end is another linerate or any iperf3.
#[derive(Debug, Parser)]
#[command(name = "linerate", version, propagate_version = true)]
#[command(after_help = EXAMPLES, long_version = LONG_VERSION)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,

    #[command(flatten)]
    pub(crate) common: CommonFlags,
}

/// Options of all commands.
#[derive(Debug, Args)]
pub(crate) struct CommonFlags {
    /// When to use colours
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        env = "LINERATE_COLOR",
        hide_env = true,
        value_name = "WHEN"
    )]
    pub(crate) color: Color,
}

impl Arguments {
    /// The arguments of this process, without its name.
    pub(crate) fn read(arguments: Vec<OsString>) -> Result<Self, Error> {
        let arguments = habits::with_command(arguments);
        // Help and errors tell of other commands too, and are not in a hurry.
        if brief::is_wanted(arguments.iter().map(OsString::as_os_str)) {
            return Self::read_by(brief::shorten(command()), &arguments);
        }
        let alone = typed_alone(&arguments).and_then(|only| Self::read_alone(only, &arguments));
        alone.map_or_else(|| Self::read_by(command(), &arguments), Ok)
    }

    /// The arguments of one command; none: there is something to be said.
    fn read_alone(definition: clap::Command, arguments: &[OsString]) -> Option<Self> {
        let (definition, _) = environment::settle(definition, arguments);
        let matches = definition.try_get_matches_from(whole_line(arguments)).ok()?;
        Self::from_matches(&matches).ok()
    }

    fn read_by(definition: clap::Command, arguments: &[OsString]) -> Result<Self, Error> {
        let (mut definition, variables) = environment::settle(definition, arguments);
        let chosen = environment::chosen(&definition, arguments).unwrap_or_default();
        definition = width::fit(definition);
        let place = Place { command: &chosen, definition: &definition, variables: &variables };
        let matches = definition.clone().try_get_matches_from(whole_line(arguments));
        matches
            .and_then(|matches| Self::from_matches(&matches))
            .map_err(|error| place.explain(error))
    }

    fn from_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let Self { command, common } = Self::from_arg_matches(matches)?;
        let settled = match (command, matches.subcommand()) {
            (Command::Test(flags), Some((_, matches))) => {
                flags.settle(matches).map(|flags| Command::Test(Box::new(flags)))
            }
            (Command::Latency(flags), Some((_, matches))) => {
                flags.settle(matches).map(|flags| Command::Latency(Box::new(flags)))
            }
            (Command::Search(flags), Some((_, matches))) => {
                flags.settle(matches).map(|flags| Command::Search(Box::new(flags)))
            }
            #[cfg(feature = "full")]
            (Command::Ladder(flags), Some((_, matches))) => {
                flags.settle(matches).map(|flags| Command::Ladder(Box::new(flags)))
            }
            #[cfg(feature = "full")]
            (Command::Ab(flags), Some((_, matches))) => {
                flags.settle(matches).map(|flags| Command::Ab(Box::new(flags)))
            }
            (Command::Tune(flags), Some((_, matches))) => {
                flags.settle(matches).map(|flags| Command::Tune(Box::new(flags)))
            }
            #[cfg(feature = "full")]
            (Command::Sweep(flags), Some((_, matches))) => {
                flags.settle(matches).map(|flags| Command::Sweep(Box::new(flags)))
            }
            (Command::Diagnose(mut flags), Some((_, matches))) => {
                flags.target.settle(matches).map(|()| Command::Diagnose(flags))
            }
            (command, _) => Ok(command),
        };
        let command = settled.map_err(|wrong| Error::raw(ErrorKind::ValueValidation, wrong))?;
        Ok(Self { command, common })
    }
}

/// The command line with the name of the program.
fn whole_line(arguments: &[OsString]) -> impl Iterator<Item = OsString> {
    std::iter::once("linerate".into()).chain(arguments.iter().cloned())
}

/// The whole command line: options as they are declared, names that users of iperf3 type, and what
/// is said of environment variables.
pub(crate) fn command() -> clap::Command {
    Arguments::command().mut_subcommands(complete)
}

/// The command line with the command that was typed first, and with no other, since to set up the
/// options of all takes milliseconds. None: no command was typed first.
fn typed_alone(arguments: &[OsString]) -> Option<clap::Command> {
    let name = arguments.first()?.to_str().filter(|name| !name.starts_with('-'))?;
    let quick = QUICK.iter().find(|(quick, _)| *quick == name);
    let typed = match quick {
        Some((name, add_options)) => add_options(clap::Command::new(*name)),
        None => Arguments::command().find_subcommand(name)?.clone(),
    };
    let alone = clap::Command::new("linerate").version(env!("CARGO_PKG_VERSION"));
    let alone = CommonFlags::augment_args(alone.propagate_version(true));
    Some(alone.subcommand(complete(typed)))
}

/// Adds options to a command.
type AddOptions = fn(clap::Command) -> clap::Command;

/// Commands whose start is part of a measurement, and their options.
const QUICK: [(&str, AddOptions); 3] = [
    ("serve", ServeFlags::augment_args),
    ("test", TestFlags::augment_args),
    ("latency", LatencyFlags::augment_args),
];

fn complete(sub: clap::Command) -> clap::Command {
    if sub.get_name() == "iperf3" {
        return sub;
    }
    let sub = environment::describe(add_rules(habits::add_names(sub)));
    let sub = sub.mut_subcommands(|nested| nested.mut_args(take_negative_numbers));
    sub.mut_args(take_negative_numbers)
}

/// -5 is then a wrong value of an option, and not an unknown option.
fn take_negative_numbers(arg: Arg) -> Arg {
    let takes_values = arg.get_action().takes_values() && !arg.is_positional();
    if takes_values { arg.allow_negative_numbers(true) } else { arg }
}

/// What holds for any command that has such options.
fn add_rules(mut command: clap::Command) -> clap::Command {
    let has =
        |command: &clap::Command, id: &str| command.get_arguments().any(|arg| arg.get_id() == id);
    if has(&command, "quiet") && has(&command, "verbose") {
        command = command.mut_arg("quiet", |arg| arg.conflicts_with("verbose"));
    }
    if matches!(
        command.get_name(),
        "test" | "latency" | "search" | "sweep" | "ladder" | "ab" | "tune"
    ) {
        let usage = format!("linerate {} [OPTIONS] <HOST[:PORT]>", command.get_name());
        command = command.group(ArgGroup::new(SERVER).required(true)).override_usage(usage);
    }
    if command.get_name() == "sweep" {
        let text = "Store each record as a line of JSON in a file when its test has ended";
        command = command.mut_arg("output", |output| output.help(text).long_help(text));
        let text = "Duration of each point, e.g. 10s [default: 2s, or by --budget]";
        command = command.mut_arg("time", |time| time.help(text).long_help(text));
        for without_effect in ["repeat", "fastest", "unit", "no_probe_cause"] {
            command = command.mut_arg(without_effect, |arg| arg.hide(true));
        }
        command =
            command.override_usage("linerate sweep [OPTIONS] --over <AXIS[=LIST]> <HOST[:PORT]>");
    }
    if matches!(command.get_name(), "ab" | "tune") {
        for without_effect in ["repeat", "fastest", "unit", "no_probe_cause"] {
            command = command.mut_arg(without_effect, |arg| arg.hide(true));
        }
        let text = "Duration of each test [default: 2s]";
        command = command.mut_arg("time", |time| time.help(text).long_help(text));
    }
    if command.get_name() == "ab" {
        command = command.override_usage("linerate ab [OPTIONS] --b <OPTIONS> <HOST[:PORT]>");
    }
    if command.get_name() == "diagnose" {
        // Only who types a host wants traffic.
        command = command.mut_arg("host", |host| {
            host.env(None::<&str>)
                .help("The server to test against [default: none, no traffic is sent]")
        });
    }
    if has(&command, "format") {
        command = format::narrow(command);
    }
    // As with iperf3 the last of several counts.
    command.args_override_self(true)
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Answer clients, linerate or iperf3, on one port
    Serve(Box<ServeFlags>),
    /// Measure TCP and UDP, both ways, against a server
    Test(Box<TestFlags>),
    /// Measure round trips, idle and under load, against a linerate
    Latency(Box<LatencyFlags>),
    /// Find the highest load without loss, and with a little
    Search(Box<SearchFlags>),
    /// Test over rates, sizes, streams, ..., and draw the curve
    #[cfg(feature = "full")]
    Sweep(Box<SweepFlags>),
    /// Compare two settings in turn until it is decided which is faster
    #[cfg(feature = "full")]
    Ab(Box<AbFlags>),
    /// Try what the verdict names, in turn, and keep what helps
    Tune(Box<TuneFlags>),
    /// Undo changes of settings when standard input ends
    #[command(hide = true)]
    Watchdog {
        /// Directory of the journal of changes
        state: std::path::PathBuf,
    },
    /// Change settings for clients of a server, which is at standard input
    #[command(hide = true)]
    TuneHelper {
        /// Directory of the journal of changes
        state: std::path::PathBuf,
        /// File with the key
        key: std::path::PathBuf,
        /// Kinds of settings that may be changed
        kinds: Vec<measurement::remedy::SettingKind>,
    },
    /// Measure layer by layer, from the link to an application
    #[cfg(feature = "full")]
    Ladder(Box<LadderFlags>),
    #[cfg(feature = "full")]
    #[command(flatten)]
    Frames(FramesCommand),
    /// Test all pairs of many hosts, and name the slow host or link
    #[cfg(feature = "full")]
    Mesh(Box<MeshFlags>),
    /// Answer the other agents of a mesh, and test as standard input says
    #[cfg(feature = "full")]
    #[command(hide = true)]
    MeshAgent,
    /// Plant a fault, name it, fix it and prove it, on hosts of its own
    #[cfg(feature = "full")]
    Demo(DemoFlags),
    /// Name what limits this host, or a test against a server
    Diagnose(DiagnoseFlags),
    /// Explain a rule, the last run, or a record in a file
    Explain(ExplainFlags),
    /// Find the runs of iperf3 and iperf in any text, and judge them
    #[cfg(feature = "full")]
    Import(ImportFlags),
    /// Compare runs before a change with runs after it
    #[cfg(feature = "full")]
    Compare(CompareFlags),
    /// Write a page of HTML that shows tests
    #[cfg(feature = "full")]
    Report(ReportFlags),
    #[cfg(feature = "full")]
    #[command(flatten)]
    Past(PastCommand),
    /// Answer monitoring systems by HTTP: test a host when they ask
    Probe(ProbeFlags),
    /// Measure how fast this host copies, and what that costs a test
    Copy(CopyFlags),
    /// Show what this host has, or one that was captured
    Host(HostFlags),
    /// Write what this host has to a file, to look at it elsewhere
    Capture(CaptureFlags),
    /// Restore settings that a killed linerate has left changed
    Undo(UndoFlags),
    /// Make a key for serve --key and test --key
    Key(KeyFlags),
    /// Calculate packets, pages, segments and goodput, without measuring
    #[cfg(feature = "full")]
    Calc(CalcFlags),
    /// Do what iperf 2 would do with these arguments, in its words
    #[command(disable_help_flag = true, disable_version_flag = true, after_help = IPERF_EXAMPLES)]
    Iperf {
        /// iperf's own arguments; see iperf --help
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
        arguments: Vec<std::ffi::OsString>,
    },
    /// Do what iperf3 would do with these arguments, in its words
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Iperf3 {
        /// iperf3's own arguments; see iperf3 --help
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
        arguments: Vec<std::ffi::OsString>,
    },
    /// Print a completion script for a shell
    #[cfg(feature = "full")]
    #[command(after_help = COMPLETIONS)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
        /// The name of the program: iperf3 for a link of that name
        #[arg(default_value = "linerate", value_parser = ["linerate", "iperf3"])]
        name: String,
    },
    /// Print a manual page
    #[cfg(feature = "full")]
    #[command(
        after_help = "Examples:\n  linerate man | man -l -\n  linerate man test > linerate-test.1"
    )]
    Man {
        /// The command [default: the program, with all of them]
        #[arg(value_name = "COMMAND")]
        command: Option<String>,
    },
}

/// Commands that send frames below the sockets.
#[cfg(feature = "full")]
#[derive(Debug, Subcommand)]
pub(crate) enum FramesCommand {
    /// Send frames below the sockets, and count what arrives
    Packets(Box<FramesFlags>),
    /// Find what a forwarder carries between two ports, and its limit
    Dut(Box<DutFlags>),
}

/// Commands on the history of runs.
#[cfg(feature = "full")]
#[derive(Debug, Subcommand)]
pub(crate) enum PastCommand {
    /// List the runs so far, and what changed from version to version
    History(HistoryFlags),
    /// Print a run of the history again
    Show(ShowFlags),
    /// Give a run of the history a name
    Tag(TagFlags),
    /// Write records of the history to a file
    Export(ExportFlags),
}

/// Version, commit where it is known, target and features of this build (`build.rs`).
const LONG_VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    env!("LINERATE_COMMIT"),
    "\ntarget: ",
    env!("LINERATE_TARGET"),
    "\nfeatures: ",
    env!("LINERATE_FEATURES"),
);

const IPERF_EXAMPLES: &str = "\
Examples:
  linerate iperf -s
  linerate iperf -c 10.0.0.2 -t 5 -P 2
  linerate iperf -c 10.0.0.2 -u -b 10M";

#[cfg(feature = "full")]
const COMPLETIONS: &str = "\
Examples:
  linerate completions bash > /etc/bash_completion.d/linerate
  linerate completions zsh iperf3 > ~/.zfunc/_iperf3";

const EXAMPLES: &str = "\
Examples:
  linerate serve                      on one host
  linerate test 10.0.0.2              on the other: TCP and UDP, send and receive
  linerate diagnose 10.0.0.2          what limits it, and what to change
  linerate demo                       no second host needed
  linerate iperf3 -c 10.0.0.2 -J      as iperf3; so does a link named iperf3

Exit codes: 0 done; 1 the run failed; 2 usage; 3 a result is INVALID; 4 a requirement is missed; 5 the server was busy; 130 interrupted.";

#[cfg(test)]
mod tests {
    use super::*;

    fn options(command: &clap::Command, name: &str) -> Vec<String> {
        let sub = command.find_subcommand(name).expect("the command");
        sub.get_arguments().map(|arg| format!("{arg:?}")).collect()
    }

    #[test]
    fn a_command_alone_has_the_options_that_it_has_among_all() {
        let all = command();
        for sub in all.get_subcommands() {
            let name = sub.get_name();
            let alone = typed_alone(&[name.into()]).expect("a command");
            assert_eq!(options(&alone, name), options(&all, name));
        }
    }
}
