//! `iperf2`: linerate in iperf2's words against iperf2 binaries, in both roles. What both ends say
//! has to agree.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use clap::Args;
use lab::{Host, LinkSpec};
use testbed::port;
use testbed::process::{Ended, Running};
use testbed::topology::{self, Topology};

use crate::{Verdict, table};

mod cases;
mod rows;

use cases::{CASES, Case};

/// Plays tests of iperf2's command line between linerate and iperf2 binaries, in both roles
#[derive(Debug, Args)]
pub(crate) struct Iperf2 {
    /// The linerate to test
    #[arg(long, value_name = "FILE")]
    linerate: PathBuf,
    /// An iperf of version 2; more than once for several
    #[arg(long, value_name = "FILE", default_value = "iperf")]
    iperf: Vec<PathBuf>,
    /// Only tests whose options contain this
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// A few of the tests
    #[arg(long)]
    short: bool,
}

impl Iperf2 {
    pub(crate) fn run(&self) -> anyhow::Result<Verdict> {
        let ours = Program { path: self.linerate.clone(), is_own: true, version: (2, 1, 8) };
        let hosts = Topology::cable(topology::Path::Veth, &LinkSpec::default())?;
        let (mut played, mut failed) = (0, 0);
        for path in &self.iperf {
            let theirs = Program::find(path)?;
            for (client, server) in [(&ours, &theirs), (&theirs, &ours)] {
                for case in CASES.iter().filter(|case| self.wants(case, &theirs)) {
                    played += 1;
                    let line = format!("{} to {}: {}", client.name(), server.name(), case.options);
                    match play(&hosts, client, server, case) {
                        Ok(told) => table::say(format!("ok    {line}: {told}")),
                        Err(error) => {
                            failed += 1;
                            table::say(format!("FAIL  {line}: {error:#}"));
                        }
                    }
                }
            }
        }
        ensure!(played > 0, "no test has such options");
        table::say(format!("iperf2: {} of {played} tests agree at both ends", played - failed));
        Ok(if failed == 0 { Verdict::Passed } else { Verdict::Failed })
    }

    fn wants(&self, case: &Case, theirs: &Program) -> bool {
        let is_wanted = case.options.contains(&self.only) && (case.short || !self.short);
        is_wanted && theirs.version >= case.since
    }
}

/// One of two programs.
struct Program {
    path: PathBuf,
    is_own: bool,
    version: (u32, u32, u32),
}

impl Program {
    fn find(path: &Path) -> anyhow::Result<Self> {
        let output = Command::new(path).arg("-v").output();
        let output = output.with_context(|| format!("cannot run {}", path.display()))?;
        // 2.0.x prints it on standard error.
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        let version = version(&text)
            .with_context(|| format!("{} is no iperf 2: {}", path.display(), text.trim()))?;
        Ok(Self { path: path.to_owned(), is_own: false, version })
    }

    fn name(&self) -> String {
        let (major, minor, patch) = self.version;
        if self.is_own { "linerate".to_owned() } else { format!("iperf {major}.{minor}.{patch}") }
    }

    fn command(&self, host: &Host, arguments: &str) -> Command {
        let mut command = host.command(&self.path);
        if self.is_own {
            command.arg("iperf");
        }
        command.args(arguments.split_whitespace());
        command
    }
}

/// Three numbers after `iperf version`.
fn version(text: &str) -> Option<(u32, u32, u32)> {
    let (_, rest) = text.split_once("iperf version ")?;
    let mut numbers = rest.split(|letter: char| !letter.is_ascii_digit()).map(str::parse);
    let mut next = || numbers.next()?.ok();
    let version = (next()?, next()?, next()?);
    (version.0 == 2).then_some(version)
}

/// Plays a case, again if a server of others crashed; what both ends told, if they agree.
fn play(
    hosts: &Topology,
    client: &Program,
    server: &Program,
    case: &Case,
) -> anyhow::Result<String> {
    let mut crashes = 0;
    loop {
        match run(hosts, client, server, case)? {
            Some((sent, received)) => {
                let versions = [client.version, server.version];
                let is_miscounted = versions.iter().any(|one| case.miscounts == Some(*one));
                return compare((case, is_miscounted), &sent, &received);
            }
            None => crashes += 1,
        }
        ensure!(!server.is_own && crashes < MOST_CRASHES, "the server crashed");
    }
}

/// Runs a case once. Returns how the client ended and what the server printed, or `None` if the server
/// crashed.
fn run(
    hosts: &Topology,
    client: &Program,
    server: &Program,
    case: &Case,
) -> anyhow::Result<Option<(Ended, String)>> {
    let udp = if case.is_udp() { " -u" } else { "" };
    let arguments = format!("-s -p {PORT} -f K{udp}");
    let mut serving = Running::captured(server.command(hosts.server(), &arguments))?;
    if case.is_udp() {
        // A UDP server says that it listens before it does.
        thread::sleep(SETTLING);
    } else {
        port::await_listener(Some(hosts.server()), PORT, &mut serving)?;
    }
    if case.is_udp() && server.is_own {
        // The server of linerate sends datagrams to who has proved its address by TCP.
        let to = (hosts.address(), PORT);
        hosts.client().run(|| TcpStream::connect(to))??;
    }
    let arguments = format!("-c {} -p {PORT} -f K {}", hosts.address(), case.options);
    let ended = Running::captured(client.command(hosts.client(), &arguments))?.finish(PATIENCE)?;
    // It prints its own rows when the client is gone.
    thread::sleep(SETTLING);
    let has_crashed = !serving.is_running();
    _ = serving.signal("INT");
    let stdout = serving.finish(PATIENCE)?.stdout;
    Ok((!has_crashed).then_some((ended, stdout)))
}

/// Both ends have moved as much.
fn compare(
    (case, is_miscounted): (&Case, bool),
    client: &Ended,
    server: &str,
) -> anyhow::Result<String> {
    let complaint = || format!("{}{}", client.complaint(), client.last_line());
    ensure!(client.code() == Some(0), "the client failed: {}", complaint());
    let [of_client, of_server] = [client.stdout.as_str(), server].map(rows::kilobytes);
    ensure!(of_client > 0.0, "the client has moved nothing: {}", complaint());
    if case.is_udp() && !case.is_over_one_flow() {
        ensure!(client.stdout.contains("Server Report"), "no report came: {}", complaint());
    }
    let most = of_client.mul_add(case.tolerance, case.under_way);
    ensure!(of_server > 0.0, "the server has moved nothing");
    // A datagram is lost where a CPU is busy.
    let is_less = !case.is_udp() && of_server < of_client - most;
    if !is_miscounted && (is_less || of_server > of_client + most) {
        bail!("the client has moved {of_client:.2} KBytes, the server {of_server:.2}");
    }
    if let Some(bytes) = case.kilobytes {
        let is_right = (of_client / bytes - 1.0).abs() < 0.01;
        ensure!(is_right, "{of_client:.0} KBytes were moved, and {bytes:.0} were asked for");
    }
    Ok(format!("{of_client:.0} and {of_server:.0} KBytes"))
}

/// The UDP server of 2.1.8 crashes at the end of some flows, of its own clients too.
const MOST_CRASHES: u32 = 8;
/// Default port of iperf2.
const PORT: u16 = 5001;
const PATIENCE: Duration = Duration::from_secs(15);
const SETTLING: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        assert_eq!(version("iperf version 2.1.8 (12 August 2022) pthreads"), Some((2, 1, 8)));
        assert_eq!(version("iperf version 2.0.13a (22 Jan 2019) pthreads"), Some((2, 0, 13)));
        assert_eq!(version("iperf 3.12 (cJSON 1.7.15)"), None);
    }
}
