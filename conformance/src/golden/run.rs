//! Plays one command line with one program as both ends.

use std::process::Command;
use std::thread;
use std::time::Duration;

use lab::Host;
use testbed::port::await_listener;
use testbed::process::{Ended, Running};

use super::commands::{CommandLine, Setup};
use crate::program::{Installed, Program};

/// A program on a host of its own, which it reaches by loopback.
pub(crate) struct Side<'a> {
    pub(crate) program: &'a Installed,
    pub(crate) host: &'a Host,
}

/// What both ends left behind.
pub(crate) struct BothEnds {
    pub(crate) client: Ended,
    pub(crate) server: Option<Ended>,
}

impl Side<'_> {
    /// Plays a command line, with the server on `port`.
    pub(crate) fn run(&self, line: &CommandLine, port: u16) -> anyhow::Result<BothEnds> {
        if matches!(line.setup, Setup::NoServer | Setup::Misused) {
            let client = self.client(line, port)?.finish(PATIENCE)?;
            return Ok(BothEnds { client, server: None });
        }
        let server = self.server(line, port)?;
        let busy = self.occupy(line, port)?;
        let client = self.client(line, port)?;
        if line.setup == Setup::Interrupted {
            thread::sleep(BEFORE_SIGNAL);
            client.signal("INT")?;
        }
        let client = client.finish(PATIENCE)?;
        busy.map(|busy| busy.finish(PATIENCE)).transpose()?;
        if line.setup == Setup::ServesOn {
            thread::sleep(BEFORE_SIGNAL);
            server.signal("TERM")?;
        }
        let server = server.finish(SERVER_PATIENCE)?;
        Ok(BothEnds { client, server: (line.setup != Setup::GivesUp).then_some(server) })
    }

    fn client(&self, line: &CommandLine, port: u16) -> anyhow::Result<Running> {
        let mut command = self.command();
        command.args(line.client.split_whitespace()).args(["-p", &port.to_string()]);
        Running::captured(command)
    }

    fn server(&self, line: &CommandLine, port: u16) -> anyhow::Result<Running> {
        let mut command = self.command();
        command.args(["-s", "-p", &port.to_string()]).args(line.server.split_whitespace());
        if line.setup != Setup::ServesOn {
            command.arg("-1");
        }
        let mut server = Running::captured(command)?;
        await_listener(Some(self.host), port, &mut server)?;
        Ok(server)
    }

    /// Another client, whose test runs when it returns.
    fn occupy(&self, line: &CommandLine, port: u16) -> anyhow::Result<Option<Running>> {
        if line.setup != Setup::Busy {
            return Ok(None);
        }
        let mut command = self.command();
        command.args(["-c", "127.0.0.1", "-t", "2", "-p", &port.to_string()]);
        let running = Running::captured(command)?;
        thread::sleep(BEFORE_SIGNAL);
        Ok(Some(running))
    }

    fn command(&self) -> Command {
        let mut command = self.host.command(self.program.path());
        if self.program.program == Program::Linerate {
            command.arg("iperf3");
        }
        command.env("LC_ALL", "C");
        command
    }
}

const PATIENCE: Duration = Duration::from_secs(15);
/// How long a server may outlive its client.
const SERVER_PATIENCE: Duration = Duration::from_secs(3);
/// Long enough for a test to run, and no whole number of intervals.
const BEFORE_SIGNAL: Duration = Duration::from_millis(700);
