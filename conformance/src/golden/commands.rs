//! The command lines that are compared. Data only.

use crate::program::Version;

/// One command line, and what it is run against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CommandLine {
    /// What follows `-p PORT` at the client; it says itself whom it connects to.
    pub(crate) client: &'static str,
    /// What follows `-s -p PORT` at the server.
    pub(crate) server: &'static str,
    pub(crate) setup: Setup,
}

/// Who else is there, and how it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setup {
    /// A server for one test, and the client.
    Alone,
    /// No server.
    NoServer,
    /// No server, since the command line is wrong.
    Misused,
    /// A server that runs the test of another client.
    Busy,
    /// A server for many tests, that SIGTERM ends after this one.
    ServesOn,
    /// A client that gives up while the server makes ready. Whether the server still gets
    /// to say so depends on who is faster, so only the client counts.
    GivesUp,
    /// A client that gets SIGINT in the middle of its test.
    Interrupted,
}

impl CommandLine {
    /// The version that first knows its options.
    pub(crate) fn since(&self) -> Version {
        let has = |option| self.words().any(|word| word == option);
        match (has("--json-stream-full-output"), has("--json-stream")) {
            (true, _) => Version(3, 20),
            (false, true) => Version(3, 17),
            (false, false) => Version(3, 12),
        }
    }

    /// Whether the client fixes the unit of its rates, so that it tells something.
    pub(crate) fn fixes_unit(&self) -> bool {
        self.words().any(|word| word == "-f")
    }

    /// Whether it is one of those that a short run takes.
    pub(crate) fn is_short(&self) -> bool {
        SHORT.contains(&self.client)
    }

    fn words(&self) -> impl Iterator<Item = &'static str> {
        self.client.split_whitespace().chain(self.server.split_whitespace())
    }
}

const fn alone(client: &'static str, server: &'static str) -> CommandLine {
    CommandLine { client, server, setup: Setup::Alone }
}

const fn setup(setup: Setup, client: &'static str, server: &'static str) -> CommandLine {
    CommandLine { client, server, setup }
}

/// All of them; the numbers of `--only` count from 1.
pub(crate) const COMMAND_LINES: &[CommandLine] = &[
    alone("-c 127.0.0.1 -t 2", ""),
    alone("-c 127.0.0.1 -t 1 -V", "-V"),
    // Of one second, iperf3 has the results before it prints the first header.
    alone("-c 127.0.0.1 -t 2 -R -V", "-V"),
    alone("-c 127.0.0.1 -t 1 --bidir", ""),
    alone("-c 127.0.0.1 -t 1 --bidir -P 2 -V", "-V"),
    alone("-c 127.0.0.1 -t 2 -P 2 -O 1", ""),
    alone("-c 127.0.0.1 -t 2 -P 3 -V -R", "-V"),
    alone("-c 127.0.0.1 -t 2 -u", ""),
    alone("-c 127.0.0.1 -t 1 -u -V", "-V"),
    alone("-c 127.0.0.1 -t 1 -u -R -V", "-V"),
    alone("-c 127.0.0.1 -t 1 -u --bidir -V", "-V"),
    alone("-c 127.0.0.1 -t 2 -u -P 2 -b 10M -O 1", ""),
    alone("-c 127.0.0.1 -t 1 -J", "-J"),
    alone("-c 127.0.0.1 -t 1 -J -R", "-J"),
    alone("-c 127.0.0.1 -t 1 -J --bidir -P 2", "-J"),
    alone("-c 127.0.0.1 -t 2 -J -P 2 -O 1", "-J"),
    alone("-c 127.0.0.1 -t 1 -J -u", "-J"),
    alone("-c 127.0.0.1 -t 1 -J -u -R", "-J"),
    alone("-c 127.0.0.1 -t 1 -J -u --bidir", "-J"),
    alone("-c 127.0.0.1 -t 2 -J -u -P 2 -O 1", "-J"),
    alone("-c 127.0.0.1 -t 2 --json-stream", "--json-stream"),
    alone(
        "-c 127.0.0.1 -t 1 -u --json-stream --json-stream-full-output",
        "--json-stream --json-stream-full-output",
    ),
    alone("-c 127.0.0.1 -t 1 -f k", "-f t"),
    alone("-c 127.0.0.1 -t 1 -f K", "-f T"),
    alone("-c 127.0.0.1 -t 1 -f m -u", "-f M"),
    alone("-c 127.0.0.1 -t 1 -f G -P 2", "-f g"),
    alone("-c 127.0.0.1 -n 20M -i 0.5 -b 160M", ""),
    alone("-c 127.0.0.1 -k 100 -l 64K -V", "-V"),
    alone("-c 127.0.0.1 -t 1 -b 20M/5 -w 128K -V", "-V"),
    alone("-c 127.0.0.1 -t 1 -M 1000 -N -C cubic -J", "-J"),
    alone("-c 127.0.0.1 -t 1 -Z -S 0x10 -i 0 -V", "-V"),
    alone("-c 127.0.0.1 -t 1 -4 -i 0.5 --repeating-payload", ""),
    alone("-c ::1 -t 1 -6 -V", "-V"),
    alone("-c 127.0.0.1 -t 1 --get-server-output", ""),
    alone("-c 127.0.0.1 -t 1 --get-server-output -J", ""),
    alone("-c 127.0.0.1 -t 1 --get-server-output -u", "-J"),
    alone("-c 127.0.0.1 -t 1 --get-server-output -J -R", "-J"),
    alone("-c 127.0.0.1 -t 1 -T title -V", ""),
    alone("-c 127.0.0.1 -t 1 -T title --extra-data hello -J", "-J"),
    alone("-c 127.0.0.1 -t 1 --timestamps", "--timestamps"),
    alone("-c 127.0.0.1 -t 1 -u --udp-counters-64bit --dont-fragment -l 1000 -J", "-J"),
    setup(Setup::GivesUp, "-c 127.0.0.1 -t 1 -C nosuchalgorithm", ""),
    setup(Setup::GivesUp, "-c 127.0.0.1 -t 1 -C nosuchalgorithm -J", "-J"),
    setup(Setup::ServesOn, "-c 127.0.0.1 -t 1", ""),
    setup(Setup::ServesOn, "-c 127.0.0.1 -t 1 -J", "-J"),
    setup(Setup::Busy, "-c 127.0.0.1 -t 1", ""),
    setup(Setup::Busy, "-c 127.0.0.1 -t 1 -J", "-J"),
    setup(Setup::Interrupted, "-c 127.0.0.1 -t 8", ""),
    setup(Setup::Interrupted, "-c 127.0.0.1 -t 8 -J", "-J"),
    setup(Setup::NoServer, "-c 127.0.0.1", ""),
    setup(Setup::NoServer, "-c 127.0.0.1 -J", ""),
    setup(Setup::NoServer, "-c 127.0.0.1 --json-stream", ""),
    setup(Setup::Misused, "-c 127.0.0.1 --nosuchflag", ""),
    setup(Setup::Misused, "-c 127.0.0.1 -M 99999", ""),
    setup(Setup::Misused, "-c 127.0.0.1 -M 99999 -J", ""),
    setup(Setup::Misused, "-s -c 127.0.0.1", ""),
    setup(Setup::Misused, "-s -u", ""),
    setup(Setup::Misused, "--bidir", ""),
];

/// One of each kind of output.
const SHORT: &[&str] = &[
    "-c 127.0.0.1 -t 1 -V",
    "-c 127.0.0.1 -t 1 --bidir",
    "-c 127.0.0.1 -t 1 -u -R -V",
    "-c 127.0.0.1 -t 1 -J",
    "-c 127.0.0.1 -t 1 -J -u --bidir",
    "-c 127.0.0.1 -t 2 --json-stream",
    "-c 127.0.0.1 -t 1 --get-server-output -J",
    "-c 127.0.0.1 -J",
    "-c 127.0.0.1 --nosuchflag",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_run_has_all_that_it_names() {
        let has = |client: &&str| COMMAND_LINES.iter().any(|line| line.client == *client);
        assert!(SHORT.iter().all(has));
    }

    #[test]
    fn no_command_line_occurs_twice() {
        for (index, line) in COMMAND_LINES.iter().enumerate() {
            assert!(!COMMAND_LINES[..index].contains(line), "{line:?}");
        }
    }
}
