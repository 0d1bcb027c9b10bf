//! The programs that take turns.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::Result;
use lab::Host;
use serde_json::Value;

use super::fairness::Fairness;
use crate::bench::program;
use crate::command;

mod iperf3;
mod linerate;
mod plain;

/// A program and how it is spoken to.
pub(in crate::bench) struct Contender {
    /// As it calls itself.
    pub(super) name: String,
    /// What it is here for.
    pub(super) part: Part,
    path: PathBuf,
    /// What its clients are told beside the task.
    flags: String,
    /// Client and server have a CPU each.
    is_pinned: bool,
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
    /// The plain loop.
    Reference,
    /// The plain loop that does the most.
    Best,
}

/// What both sides are asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task<'a> {
    /// The server's address.
    pub(super) address: Ipv4Addr,
    /// Parallel streams.
    pub(super) streams: u32,
    /// Seconds of sending.
    pub(super) seconds: u32,
    /// Congestion control of the sender.
    pub(super) congestion: &'a str,
    /// Bytes of the datagrams that are sent; none: it is TCP.
    pub(super) length: Option<u32>,
}

/// What a program says of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Told {
    /// Payload bytes at the receiver.
    pub(super) bytes: u64,
    /// Their rate there in bits per second.
    pub(super) rate: f64,
    /// How the streams shared them, if it tells.
    pub(super) fairness: Option<Fairness>,
    /// Seconds between the starts of the first and of the last stream, if it tells.
    pub(super) start_skew: Option<f64>,
    /// Seconds between their ends, if it tells.
    pub(super) stop_skew: Option<f64>,
}

trait Dialect {
    /// Arguments of a server whose clients have these `flags`.
    fn server(&self, task: &Task, flags: &str) -> String;

    /// Arguments of its client, with `flags` beside the task.
    fn client(&self, task: &Task, flags: &str) -> String;

    /// Reads the JSON that the client prints.
    fn read(&self, printed: &Value) -> Result<Told>;

    /// Whether it is worth a run with so many streams, of datagrams of `length` or of TCP.
    fn takes(&self, streams: u32, length: Option<u32>) -> bool;
}

impl Contender {
    /// Asks a program for its name.
    pub(in crate::bench) fn find(path: PathBuf, part: Part) -> Result<Self> {
        let version = command::output(Command::new(&path).arg("--version"))?;
        let dialect: &dyn Dialect =
            if version.starts_with("linerate") { &linerate::Linerate } else { &iperf3::Iperf3 };
        Ok(Self {
            name: program::name(&version),
            part,
            path,
            flags: String::new(),
            is_pinned: false,
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

    /// The plain loop.
    pub(in crate::bench) fn reference(path: PathBuf) -> Self {
        let name = "plain C loop".to_owned();
        let flags = String::new();
        Self { name, part: Part::Reference, path, flags, is_pinned: false, dialect: &plain::Plain }
    }

    /// Whether it is worth a run with so many streams, of datagrams of `length` or of TCP.
    pub(super) fn takes(&self, streams: u32, length: Option<u32>) -> bool {
        self.dialect.takes(streams, length)
    }

    /// A server on a host.
    pub(super) fn server(&self, host: &Host, task: &Task) -> Command {
        let mut server = self.command(host, "1", &self.dialect.server(task, &self.flags));
        server.stdout(Stdio::null());
        server
    }

    /// A client on a host.
    pub(super) fn client(&self, host: &Host, task: &Task) -> Command {
        self.command(host, "0", &self.dialect.client(task, &self.flags))
    }

    /// Reads the JSON that the client prints.
    pub(super) fn read(&self, printed: &Value) -> Result<Told> {
        self.dialect.read(printed)
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

/// Each run has hosts of its own, where every port is free.
const PORT: u16 = 5201;

#[cfg(test)]
const TASK: Task<'static> = Task {
    address: Ipv4Addr::LOCALHOST,
    streams: 16,
    seconds: 5,
    congestion: "cubic",
    length: None,
};
