//! Who is client and who is server of a trial.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use testbed::port;
use testbed::process::{self, Running};

use super::trial::Trial;
use crate::static_binary::{self, Target};

/// The programs of a trial.
pub(super) struct Ends<'a> {
    pub(super) target: &'a Target,
    /// The build for it.
    pub(super) binary: &'a Path,
    /// The linerate of this host.
    pub(super) here: &'a Path,
}

/// What the build for another host is, and to whom.
pub(super) struct Role {
    pub(super) name: &'static str,
    is_client: bool,
    peer: Peer,
}

/// The program of this host.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Peer {
    Linerate,
    Iperf3,
}

pub(super) const ROLES: [Role; 4] = [
    Role { name: "client of linerate", is_client: true, peer: Peer::Linerate },
    Role { name: "server of linerate", is_client: false, peer: Peer::Linerate },
    Role { name: "client of iperf3", is_client: true, peer: Peer::Iperf3 },
    Role { name: "server of iperf3", is_client: false, peer: Peer::Iperf3 },
];

impl Role {
    /// What came of a trial, in a few words; none: it is not for such a peer.
    pub(super) fn play(&self, ends: &Ends<'_>, trial: &Trial) -> Option<Result<String>> {
        let ask = match self.peer {
            Peer::Linerate => &trial.linerate,
            Peer::Iperf3 => trial.iperf3.as_ref()?,
        };
        Some(self.printed(ends, ask.words).and_then(|text| (ask.read)(&text)))
    }

    /// What the client prints, with a server of its own.
    fn printed(&self, ends: &Ends<'_>, words: &str) -> Result<String> {
        let port = port::free()?;
        let mut server = Running::captured(self.server(ends, port))?;
        port::await_listener(None, port, &mut server)?;
        let ended = process::finish(self.client(ends, words, port), LIMIT)?;
        let is_running = server.is_running();
        let texts = [ended.complaint(), server.stderr().trim().to_owned()];
        let complaint = || format!("{:?}: {}; {}", ended.how, texts.join(" / "), ended.last_line());
        ensure!(ended.has_measured(), "{}", complaint());
        ensure!(is_running, "the server has ended: {}", complaint());
        let start = ended.stdout.find('{').with_context(|| format!("no JSON: {}", complaint()))?;
        Ok(ended.stdout[start..].to_owned())
    }

    fn server(&self, ends: &Ends<'_>, port: u16) -> Command {
        let words = match self.peer {
            Peer::Iperf3 if self.is_client => format!("-s -p {port}"),
            _ => format!("serve --bind {LOOPBACK} --port {port}"),
        };
        let mut server = self.program(ends, !self.is_client);
        server.args(words.split_whitespace());
        server
    }

    fn client(&self, ends: &Ends<'_>, words: &str, port: u16) -> Command {
        let mut client = self.program(ends, self.is_client);
        if self.peer == Peer::Iperf3 {
            if self.is_client {
                client.arg("iperf3");
            }
            client.args(["-c", LOOPBACK, "-J"]);
        }
        client.args(words.split_whitespace()).args(["-p", &port.to_string()]);
        client
    }

    /// Of the build, or of this host.
    fn program(&self, ends: &Ends<'_>, is_build: bool) -> Command {
        match self.peer {
            _ if is_build => static_binary::program(ends.target, ends.binary),
            Peer::Linerate => Command::new(ends.here),
            Peer::Iperf3 => Command::new("iperf3"),
        }
    }
}

const LOOPBACK: &str = "127.0.0.1";
/// An emulated build without optimisation takes a few seconds for what takes one.
const LIMIT: Duration = Duration::from_secs(60);
