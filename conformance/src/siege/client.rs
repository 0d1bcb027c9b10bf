//! Good clients: real programs that are timed from start to end.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use testbed::process::{Ended, Running};

use super::limits::Limit;
use super::server::PORT;
use super::topology::Host;
use crate::program::{Program, Programs};

/// A client's command line.
#[derive(Clone, Debug)]
pub(super) struct Good {
    /// As it is named in tables.
    pub(super) name: &'static str,
    /// Whether it is held to [`MOST_SECONDS`]: a TCP test of one second.
    is_timed: bool,
    program: Program,
    words: &'static [&'static str],
}

/// What a good client came to.
pub(super) struct Tried(pub(super) Ended);

impl Tried {
    /// Whether it had its test: an iperf3 that writes JSON ends with success even if it
    /// was sent away.
    pub(super) fn is_well(&self) -> bool {
        self.0.has_measured() && self.error().is_none()
    }

    /// From its start to its end.
    pub(super) fn seconds(&self) -> f64 {
        self.0.took.as_secs_f64()
    }

    /// Its last words.
    pub(super) fn words(&self) -> String {
        let words = self.error().unwrap_or_else(|| self.0.last_line().to_owned());
        format!("{:?} after {:.3} s: {words}", self.0.how, self.seconds())
    }

    /// Its report, if it wrote JSON.
    pub(super) fn report(&self) -> Value {
        serde_json::from_str(&self.0.stdout).unwrap_or_default()
    }

    /// What its report says that went wrong.
    fn error(&self) -> Option<String> {
        self.report()["error"].as_str().map(str::to_owned)
    }
}

impl Good {
    /// The command that runs it on a host, against a server.
    pub(super) fn command(&self, programs: &Programs, host: &Host, server: &str) -> Command {
        let port = PORT.to_string();
        let mut command = host.command(self.path(programs));
        match self.program {
            Program::Linerate => {
                command.args(["test", "--json", "--quiet", "--no-probe-cause", server])
            }
            Program::Iperf3 => command.args(["-J", "-c", server]),
        };
        command.args(["-p", &port]).args(self.words);
        command
    }

    /// What its time from start to end may be.
    pub(super) const fn limit(&self) -> Limit {
        if self.is_timed { Limit::AtMost(MOST_SECONDS) } else { Limit::None }
    }

    /// Runs it on a host, against a server, and waits for its end.
    pub(super) fn run(
        &self,
        programs: &Programs,
        host: &Host,
        server: &str,
    ) -> anyhow::Result<Tried> {
        let running = Running::captured(self.command(programs, host, server))?;
        Ok(Tried(running.finish(PATIENCE)?))
    }

    fn path<'a>(&self, programs: &'a Programs) -> &'a Path {
        match self.program {
            Program::Linerate => &programs.linerate,
            Program::Iperf3 => &programs.iperf3,
        }
    }
}

const fn linerate(name: &'static str, is_timed: bool, words: &'static [&'static str]) -> Good {
    Good { name, is_timed, program: Program::Linerate, words }
}

const fn iperf3(name: &'static str, is_timed: bool, words: &'static [&'static str]) -> Good {
    Good { name, is_timed, program: Program::Iperf3, words }
}

/// A second of TCP: what every proof ends with.
pub(super) const SECOND: Good = linerate("linerate TCP", true, &["--tcp", "--send", "-t", "1s"]);
/// Every transport and direction, of both programs.
pub(super) const ALL: [Good; 8] = [
    SECOND,
    linerate("linerate TCP reverse", true, &["--tcp", "--receive", "-t", "1s"]),
    linerate("linerate UDP", false, &["--udp", "--send", "-b", "20M", "-t", "1s"]),
    linerate("linerate UDP reverse", false, &["--udp", "--receive", "-b", "20M", "-t", "1s"]),
    iperf3("iperf3 TCP", true, &["-t", "1"]),
    iperf3("iperf3 TCP reverse", true, &["-R", "-t", "1"]),
    iperf3("iperf3 UDP", false, &["-u", "-b", "20M", "-t", "1"]),
    iperf3("iperf3 UDP reverse", false, &["-R", "-u", "-b", "20M", "-t", "1"]),
];
/// The same of iperf3, whose datagrams name no test, from an address that has no other.
pub(super) const ELSEWHERE: [Good; 2] = [
    iperf3("iperf3 UDP from elsewhere", false, &["-u", "-b", "20M", "-t", "1", "-B", "127.9.9.9"]),
    iperf3(
        "iperf3 UDP reverse from elsewhere",
        false,
        &["-R", "-u", "-b", "20M", "-t", "1", "-B", "127.9.9.9"],
    ),
];
/// Clients that go on until they are killed.
pub(super) const ENDLESS: [Good; 6] = [
    iperf3("iperf3 TCP", false, &["-t", "300", "-b", "50M"]),
    iperf3("iperf3 TCP reverse", false, &["-t", "300", "-b", "50M", "-R"]),
    iperf3("iperf3 TCP bidir", false, &["-t", "300", "-b", "50M", "--bidir"]),
    iperf3("iperf3 UDP", false, &["-t", "300", "-u", "-b", "5M"]),
    iperf3("iperf3 UDP reverse", false, &["-t", "300", "-u", "-b", "5M", "-R"]),
    linerate("linerate TCP", false, &["--tcp", "--bidir", "-b", "50M", "-t", "300s"]),
];
/// What a test of one second may take, all included.
const MOST_SECONDS: f64 = 1.3;
/// When it counts as stuck.
const PATIENCE: Duration = Duration::from_secs(8);
