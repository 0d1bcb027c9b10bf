//! The programs that take turns.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use lab::Host;
use serde_json::Value;

use super::fairness::Fairness;
#[cfg(test)]
use super::workload::Direction;
use super::workload::Workload;
use crate::bench::identity::{Identity, Kind};

mod iperf2;
mod iperf3;
mod linerate;
mod neper;
mod plain;

/// A program and how it is spoken to.
#[derive(Clone)]
pub(in crate::bench) struct Contender {
    /// As it calls itself.
    pub(super) name: String,
    /// What it is here for.
    pub(super) part: Part,
    path: PathBuf,
    /// What its clients are told beside the task.
    flags: String,
    engines: Engines,
    /// Client and server have a CPU each.
    is_pinned: bool,
    /// Of what its dialect takes.
    wants: fn(Workload) -> bool,
    dialect: &'static dyn Dialect,
}

/// What a program is here for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::bench) enum Part {
    /// The linerate that is judged.
    Ours,
    /// The same linerate, in another way.
    Variant,
    /// The installed iperf3.
    Installed,
    /// A further program.
    Peer,
    /// The installed iperf3 or a further program, asked for more than its task.
    PeerVariant,
    /// The plain loop.
    Reference,
    /// The plain loop that does the most.
    Best,
}

/// Who chooses how bytes are moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Engines {
    /// The command line, or the program for itself.
    Given,
    /// A search before the rounds, so that what it takes is not counted.
    Searched,
}

/// What both sides are asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task<'a> {
    /// The server's address.
    pub(super) address: Ipv4Addr,
    /// What is sent.
    pub(super) workload: Workload,
    /// Seconds of sending.
    pub(super) seconds: u32,
    /// Congestion control of the sender.
    pub(super) congestion: &'a str,
}

/// What both sides printed.
#[derive(Clone, Debug, Default)]
pub(super) struct Printed {
    /// The client's standard output.
    pub(super) client: String,
    /// The server's, if the program's dialect wants it.
    pub(super) server: String,
}

/// What a program says of a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Told {
    /// Payload bytes at the receiver, of both directions.
    pub(super) bytes: u64,
    /// Their rate there in bits per second.
    pub(super) rate: f64,
    /// How the streams shared them, if it tells.
    pub(super) fairness: Option<Fairness>,
    /// Seconds between the starts of the first and of the last stream, if it tells.
    pub(super) start_skew: Option<f64>,
    /// Seconds between their ends, if it tells.
    pub(super) stop_skew: Option<f64>,
    /// Names of the engines that moved the bytes, as for `--engine`, if it tells.
    pub(super) engines: Option<String>,
}

trait Dialect {
    /// Arguments of a server whose clients have these `flags`.
    fn server(&self, task: &Task, flags: &str) -> String;

    /// Arguments of its client, with `flags` beside the task.
    fn client(&self, task: &Task, flags: &str) -> String;

    /// Reads what the client prints, and the server if it [`reports`](Self::reports).
    fn read(&self, task: &Task, printed: &Printed) -> Result<Told>;

    /// Whether it is worth a run with this workload.
    fn takes(&self, workload: Workload) -> bool;

    /// Whether only the server tells what it received.
    fn reports(&self) -> bool {
        false
    }
}

impl Contender {
    /// Asks a program for its name.
    pub(in crate::bench) fn find(path: PathBuf, part: Part) -> Result<Self> {
        let identity = Identity::of(&path)?;
        Self::new(&identity, path, part)
    }

    /// A program that was asked for its name.
    pub(in crate::bench) fn new(identity: &Identity, path: PathBuf, part: Part) -> Result<Self> {
        let dialect: &dyn Dialect = match identity.kind {
            Kind::Linerate => &linerate::Linerate,
            Kind::Iperf3 => &iperf3::Iperf3,
            Kind::Iperf2 => &iperf2::Iperf2,
            Kind::NeperTcpStream => &neper::TcpStream,
            Kind::NeperUdpStream => &neper::UdpStream,
            _ => bail!("{} sends no streams", path.display()),
        };
        Ok(Self {
            name: identity.name.clone(),
            part,
            path,
            flags: String::new(),
            engines: Engines::Given,
            is_pinned: false,
            wants: |_| true,
            dialect,
        })
    }

    /// The same with more flags, which its name then bears.
    pub(in crate::bench) fn with(mut self, flags: &str) -> Self {
        let name = format!("{} {flags}", self.name);
        name.trim_end().clone_into(&mut self.name);
        flags.clone_into(&mut self.flags);
        self
    }

    /// The same by the engines that `--fastest` finds.
    pub(in crate::bench) fn fastest(self) -> Self {
        Self { engines: Engines::Searched, ..self.with(FASTEST) }
    }

    /// Whether a search is to find the engines.
    pub(super) fn is_searching(&self) -> bool {
        self.engines == Engines::Searched
    }

    /// The same by engines that were found.
    pub(super) fn settled(&self, engines: &str) -> Self {
        let flags = format!("--engine {engines}");
        Self { flags, engines: Engines::Given, ..self.clone() }
    }

    /// The same with words that are no part of its usual name.
    pub(in crate::bench) fn told(mut self, flags: &str, name: &str) -> Self {
        name.clone_into(&mut self.name);
        flags.clone_into(&mut self.flags);
        self
    }

    /// The same, there for something else.
    pub(in crate::bench) fn there_for(self, part: Part) -> Self {
        Self { part, ..self }
    }

    /// The same with a CPU for the client and one for the server.
    pub(in crate::bench) fn pinned(self) -> Self {
        Self { is_pinned: true, ..self }
    }

    /// The same for these workloads alone.
    pub(in crate::bench) fn only_for(self, wants: fn(Workload) -> bool) -> Self {
        Self { wants, ..self }
    }

    /// As it calls itself, and what else it is asked for.
    pub(in crate::bench) fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is asked for nothing beside the task.
    pub(in crate::bench) fn is_plain(&self) -> bool {
        self.flags.is_empty()
    }

    /// The plain loop.
    pub(in crate::bench) fn reference(path: PathBuf) -> Self {
        let name = "plain C loop".to_owned();
        let flags = String::new();
        Self {
            name,
            part: Part::Reference,
            path,
            flags,
            engines: Engines::Given,
            is_pinned: false,
            wants: |_| true,
            dialect: &plain::Plain,
        }
    }

    /// Whether it is worth a run with this workload.
    pub(in crate::bench) fn takes(&self, workload: Workload) -> bool {
        (self.wants)(workload) && self.dialect.takes(workload)
    }

    /// A server on a host.
    pub(super) fn server(&self, host: &Host, task: &Task) -> Command {
        let mut server = self.command(host, "1", &self.dialect.server(task, &self.flags));
        server.stdout(if self.dialect.reports() { Stdio::piped() } else { Stdio::null() });
        server
    }

    /// A client on a host.
    pub(super) fn client(&self, host: &Host, task: &Task) -> Command {
        self.command(host, "0", &self.dialect.client(task, &self.flags))
    }

    /// Reads what both sides printed.
    pub(super) fn read(&self, task: &Task, printed: &Printed) -> Result<Told> {
        self.dialect.read(task, printed)
    }

    fn command(&self, host: &Host, cpu: &str, arguments: &str) -> Command {
        let mut command = if self.is_pinned {
            let mut pinned = host.command("taskset");
            pinned.args(["-c", cpu]).arg(&self.path);
            pinned
        } else {
            host.command(&self.path)
        };
        command.args(arguments.split_whitespace()).stdin(Stdio::null());
        command
    }
}

/// The JSON that a client printed.
fn document(printed: &Printed) -> Result<Value> {
    serde_json::from_str(&printed.client).ok().context("it printed no JSON")
}

const FASTEST: &str = "--fastest";
/// Each run has hosts of its own, where every port is free.
const PORT: u16 = 5201;

#[cfg(test)]
const TASK: Task<'static> = Task {
    address: Ipv4Addr::LOCALHOST,
    workload: Workload { streams: 16, direction: Direction::Send, length: None },
    seconds: 5,
    congestion: "cubic",
};
