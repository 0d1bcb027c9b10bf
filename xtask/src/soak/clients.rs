//! Clients of the three kinds that one port serves.

use std::path::Path;
use std::process::Command;

use testbed::process::Ended;

use super::linerate;

/// Whose client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Own,
    Iperf3,
    Iperf2,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::Own, Self::Iperf3, Self::Iperf2];

    /// A client of a server at this `port` of this host, from the address `from`.
    pub(super) fn command(
        self,
        program: &Path,
        (from, port): (&str, u16),
        options: &str,
    ) -> Command {
        let (port, from) = (port.to_string(), from.to_owned());
        let mut command = match self {
            Self::Own => {
                let words = "test 127.0.0.1 --no-evidence --no-store --quiet";
                let mut own = linerate(program, words);
                own.args(["--port", &port, "--bind", &from]);
                own
            }
            Self::Iperf3 => iperf("iperf3", &port, &from),
            Self::Iperf2 => iperf("iperf", &port, &from),
        };
        command.args(options.split_whitespace());
        command
    }

    /// Options of tests of a quarter of a second: each way over TCP, and UDP.
    pub(super) const fn tests(self) -> [&'static str; 3] {
        match self {
            Self::Own => {
                ["--tcp --send -t 250ms", "--tcp --receive -t 250ms", "--udp --send -b 2M -t 250ms"]
            }
            // It takes whole seconds.
            Self::Iperf3 => ["-n 256K", "-n 256K -R", "-u -b 2M -n 64K"],
            Self::Iperf2 => ["-n 256K", "-n 256K -R", "-u -b 2M -t 0.25"],
        }
    }

    /// Whether the client was served.
    pub(super) fn is_served(self, ended: &Ended) -> bool {
        match self {
            // 3: a result that is not to be believed, as on a busy host.
            Self::Own => matches!(ended.code(), Some(0 | 3)),
            Self::Iperf3 => ended.code() == Some(0),
            // Its exit code is zero in any case.
            Self::Iperf2 => {
                let is_refused = ["failed", "WARNING"]
                    .iter()
                    .any(|word| ended.stdout.contains(word) || ended.stderr.contains(word));
                ended.stdout.contains("bits/sec") && !is_refused
            }
        }
    }
}

fn iperf(program: &str, port: &str, from: &str) -> Command {
    let mut command = Command::new(program);
    command.args(["-c", "127.0.0.1", "-p", port, "-B", from]);
    command
}
