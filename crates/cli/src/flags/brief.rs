//! `-h`: one screen of 24 lines and 80 columns with the options that matter most and examples.
//! `--help` has all.

use std::ffi::OsStr;

use clap::Command;

/// What one command shows.
struct Screen {
    /// The command; empty: the program.
    command: &'static str,
    usage: &'static str,
    /// Options and what is said of them, in order.
    options: &'static [(&'static str, &'static str)],
    examples: &'static str,
}

/// Whether `-h` was typed, alone or behind other letters, or nothing at all.
pub(super) fn is_wanted<'a>(mut arguments: impl ExactSizeIterator<Item = &'a OsStr>) -> bool {
    let is_brief = |argument: &OsStr| {
        let text = argument.to_string_lossy();
        text.starts_with('-') && !text.starts_with("--") && text.ends_with('h')
    };
    arguments.len() == 0 || arguments.any(is_brief)
}

/// The command with short help; it parses as before.
pub(super) fn shorten(mut command: Command) -> Command {
    for screen in &SCREENS {
        command = if screen.command.is_empty() {
            let command = screen.shorten(command).help_template(WITH_COMMANDS);
            let command = command.mut_subcommands(|sub| {
                let is_seldom = SELDOM.contains(&sub.get_name());
                if is_seldom { sub.hide(true) } else { sub }
            });
            command.about("Measures a network path, and names what limits it")
        } else {
            command.mut_subcommand(screen.command, |sub| {
                screen.shorten(sub).help_template(WITHOUT_COMMANDS)
            })
        };
    }
    command
}

impl Screen {
    fn shorten(&self, mut command: Command) -> Command {
        command = command.mut_args(|arg| {
            let hide = !arg.is_positional();
            arg.hide(hide).help_heading(None::<&str>)
        });
        for (place, (id, help)) in self.options.iter().enumerate() {
            command = command.mut_arg(id, |arg| {
                let takes_values = arg.get_action().takes_values();
                arg.hide(false)
                    .display_order(place)
                    .help(*help)
                    .long_help(None::<&str>)
                    .hide_default_value(takes_values)
                    .hide_possible_values(takes_values)
            });
        }
        command.long_about(None::<&str>).override_usage(self.usage).after_help(self.examples)
    }
}

const WITHOUT_COMMANDS: &str = "{about}\n\nUsage: {usage}\n\n{options}{after-help}";
const WITH_COMMANDS: &str = "{about}\n\nUsage: {usage}\n\n{subcommands}{after-help}";

/// Commands for which a screen has no room: `--help` alone lists them.
const SELDOM: [&str; 19] = [
    "iperf",
    "packets",
    "dut",
    "key",
    "ladder",
    "ab",
    "tune",
    "mesh",
    "calc",
    "show",
    "tag",
    "export",
    "probe",
    "copy",
    "host",
    "capture",
    "undo",
    "completions",
    "man",
];

const SCREENS: [Screen; 10] = [
    Screen {
        command: "",
        usage: "linerate <COMMAND> [OPTIONS]",
        options: &[],
        examples: "\
Examples:
  linerate serve                    on one host
  linerate test 10.0.0.2            on the other: TCP and UDP, send and receive
  linerate diagnose 10.0.0.2        what limits it, and what to change
Options of a command: linerate test -h; all commands, with exit codes: --help",
    },
    Screen {
        command: "test",
        usage: "linerate test <HOST[:PORT]> [OPTIONS]",
        options: &[
            ("tcp", "TCP only"),
            ("udp", "UDP only"),
            ("send", "From here to the server only"),
            ("receive", "From the server to here only"),
            ("bidir", "Both ways at the same time"),
            ("time", "Duration of each row, e.g. 10s [default: 5s]"),
            ("streams", "Parallel streams [default: 1]"),
            ("rate", "Rate of each stream in bit/s, e.g. 100M or 2.5Gbit"),
            ("congestion", "Congestion control, e.g. bbr"),
            ("latency", "Round-trip time before and during each row, too"),
            ("json", "Print the record as JSON; -o FILE: to a file, too"),
            ("verbose", "Show every interval"),
        ],
        examples: "\
Examples:
  linerate test 10.0.0.2
  linerate test 10.0.0.2 --tcp --receive -P 4 -t 10s
  linerate test 10.0.0.2:5300 --udp -b 100M
All options: linerate test --help",
    },
    Screen {
        command: "sweep",
        usage: "linerate sweep <HOST[:PORT]> --over <AXIS[=LIST]> [OPTIONS]",
        options: &[
            ("over", "rate, size, streams, buffer, write, mss, ... [=LIST]"),
            ("budget", "Time for all points together, e.g. 60s"),
            ("output", "Store each point in a file when it has ended"),
            ("resume", "Go on with the sweep in that file"),
            ("udp", "UDP [default: TCP, but for rate and size]"),
            ("receive", "From the server to here"),
            ("time", "Duration of each point [default: 2s]"),
            ("rate", "Rate of each stream in bit/s, e.g. 100M"),
            ("format", "csv, json, ... [default: table and picture]"),
        ],
        examples: "\
Examples:
  linerate sweep 10.0.0.2 --over rate=10M..100M/10
  linerate sweep 10.0.0.2 --over streams=1..64 --budget 60s
  linerate sweep 10.0.0.2 --over size -b 0 --format csv
All options: linerate sweep --help",
    },
    Screen {
        command: "serve",
        usage: "linerate serve [OPTIONS]",
        options: &[
            ("port", "Port for TCP and UDP [default: 5201]"),
            ("bind", "Address to listen on [default: all]"),
            ("one_off", "Stop after one test"),
            ("queue", "Run tests one after another"),
            ("observe", "Only watch this host for linerate test --observe"),
            ("rate", "Highest rate of one test in bit/s, e.g. 1G"),
            ("time", "Longest test, e.g. 1m"),
            ("metrics", "Serve OpenMetrics, e.g. on 127.0.0.1:9201"),
            ("user", "User to become after binding, e.g. nobody"),
            ("json", "Log one JSON object per line"),
            ("quiet", "Print errors only"),
            ("verbose", "Tell of each test that begins, too"),
        ],
        examples: "\
Examples:
  linerate serve
  linerate serve -p 5300 -B 10.0.0.2 --max-time 1m --max-rate 1G
All options: linerate serve --help",
    },
    Screen {
        command: "diagnose",
        usage: "linerate diagnose [HOST[:PORT]] [OPTIONS]",
        options: &[
            ("root", "A host that linerate capture stored"),
            ("time", "Duration of each of the four rows [default: 5s]"),
            ("streams", "Parallel streams [default: 1]"),
            ("rate", "Rate of each stream that ought to arrive, e.g. 100M"),
            ("window", "Socket buffer, e.g. 4M"),
            ("no_follow_up", "Without further tests that decide between causes"),
            ("json", "Print the record as JSON"),
            ("output", "Write the record as JSON to a file, too"),
        ],
        examples: "\
Examples:
  linerate diagnose                    this host, without traffic
  sudo linerate diagnose 10.0.0.2      tests against a server; root sees more
  linerate diagnose --root router.tar  a captured host
All options: linerate diagnose --help",
    },
    Screen {
        command: "latency",
        usage: "linerate latency <HOST[:PORT]> [OPTIONS]",
        options: &[
            ("only", "Which rows: tcp, udp, connect, load [default: all]"),
            ("time", "Duration of each row [default: 3s]"),
            ("request", "Bytes of a request [default: 64]"),
            ("response", "Bytes of a response [default: 64]"),
            ("streams", "Streams that ask at the same time [default: 1]"),
            ("every", "Time from one request to the next, e.g. 1ms"),
            ("busy", "Busy-poll at both ends: no wake-up latency"),
            ("congestion", "Congestion control of the load, e.g. bbr"),
            ("json", "Print the record as JSON; -o FILE: to a file, too"),
            ("verbose", "Show every interval"),
        ],
        examples: "\
Examples:
  linerate latency 10.0.0.2
  linerate latency 10.0.0.2 --only udp,load
  linerate latency 10.0.0.2 --only tcp --request 1 --response 1K -P 8
All options: linerate latency --help",
    },
    Screen {
        command: "search",
        usage: "linerate search <HOST[:PORT]> [OPTIONS]",
        options: &[
            ("loss", "Loss that may be, a goal each [default: 0,0.1%,1%]"),
            ("width", "How far bounds may be apart [default: 1%]"),
            ("final_trial", "Duration of a trial at a bound [default: 1s]"),
            ("budget", "Time for all trials [default: 20s]"),
            ("tcp", "Paced TCP in place of UDP"),
            ("receive", "From the server to here"),
            ("length", "Bytes per datagram"),
            ("max_rate", "The highest load that is tried, e.g. 500M"),
            ("json", "Print the record as JSON; -o FILE: to a file, too"),
            ("verbose", "Show every trial"),
        ],
        examples: "\
Examples:
  linerate search 10.0.0.2
  linerate search 10.0.0.2 --loss 0 --width 2%
  linerate search 10.0.0.2 --tcp -R
All options: linerate search --help",
    },
    Screen {
        command: "ab",
        usage: "linerate ab <HOST[:PORT]> --b <OPTIONS> [OPTIONS]",
        options: &[
            ("a", "Options of A alone [default: none]"),
            ("b", "Options of B alone, e.g. '-w 4M -C bbr'"),
            ("pairs", "Pairs at which it ends undecided [default: 20]"),
            ("margin", "Difference that does not matter [default: 2%]"),
            ("time", "Time of each test [default: 2s]"),
            ("udp", "UDP, with -b RATE, in place of TCP"),
            ("receive", "From the server to here"),
            ("json", "Print the record as JSON; -o FILE: to a file, too"),
            ("quiet", "No progress"),
        ],
        examples: "\
Examples:
  linerate ab 10.0.0.2 --b '-w 4M'
  linerate ab 10.0.0.2 --a '-C cubic' --b '-C bbr' -R
  linerate ab 10.0.0.2 --b '-P 8' --margin 5%
All options: linerate ab --help",
    },
    Screen {
        command: "tune",
        usage: "linerate tune <HOST[:PORT]> [OPTIONS]",
        options: &[
            ("goal", "throughput, pps, latency or cpu [default: throughput]"),
            ("yes", "Change settings without asking"),
            ("dry_run", "Print what would be tried as a shell script"),
            ("keep_none", "Undo at the end what helped, too"),
            ("guard", "Loss of another metric that undoes [default: 10%]"),
            ("pairs", "Pairs at which it ends undecided [default: 16]"),
            ("time", "Time of each test [default: 2s]"),
            ("receive", "From the server to here"),
            ("json", "Print the record as JSON; -o FILE: to a file, too"),
            ("quiet", "No progress"),
        ],
        examples: "\
Examples:
  sudo linerate tune 10.0.0.2
  sudo linerate tune 10.0.0.2 --yes -R
  linerate tune 10.0.0.2 --dry-run > tune.sh
All options: linerate tune --help",
    },
    Screen {
        command: "ladder",
        usage: "linerate ladder <HOST[:PORT]> [OPTIONS]",
        options: &[
            ("time", "Time of each test [default: 2s]"),
            ("receive", "From the server to here"),
            ("streams", "Streams of the rung of several TCP streams [default: 8]"),
            ("cpus", "CPUs to pin the workers to"),
            ("json", "Print the record as JSON; -o FILE: to a file, too"),
            ("quiet", "No progress"),
        ],
        examples: "\
Examples:
  linerate ladder 10.0.0.2
  linerate ladder 10.0.0.2 -R -t 5s
  linerate ladder 10.0.0.2 --format csv
All options: linerate ladder --help",
    },
];
