//! The programs that take turns, and how each is spoken to.

use std::fmt;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Result, bail};
use clap::ValueEnum;
use lab::Host;

use super::figures::Told;
use crate::bench::identity::{Identity, Kind};

mod iperf2;
mod linerate;
mod neper;
mod netperf;
mod sockperf;

/// A program.
pub(super) struct Contender {
    /// Its name and version.
    pub(super) name: String,
    kind: Kind,
    path: PathBuf,
    dialect: &'static dyn Dialect,
}

/// What is exchanged, one at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Exchange {
    /// Request and response over one TCP connection
    Tcp,
    /// Request and response in datagrams
    Udp,
    /// A TCP connection for each request and response
    Connect,
}

/// What both sides are asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    /// What is exchanged.
    pub(super) exchange: Exchange,
    /// The server's address.
    pub(super) address: Ipv4Addr,
    /// Seconds of it.
    pub(super) seconds: u32,
    /// Bytes of a request and of a response.
    pub(super) size: u32,
}

trait Dialect {
    /// The program of the server, if it is another one than the client's.
    fn server_program(&self) -> Option<&'static str> {
        None
    }

    /// Arguments of a server.
    fn server(&self, task: &Task) -> String;

    /// Arguments of its client.
    fn client(&self, task: &Task) -> String;

    /// Reads what the client prints.
    fn read(&self, task: &Task, printed: &str) -> Result<Told>;

    /// Whether it does such an exchange.
    fn takes(&self, exchange: Exchange) -> bool;
}

impl Contender {
    /// Asks a program for its name.
    pub(super) fn find(path: PathBuf) -> Result<Self> {
        let Identity { name, kind, .. } = Identity::of(&path)?;
        let dialect: &dyn Dialect = match kind {
            Kind::Linerate => &linerate::Linerate,
            Kind::Iperf2 => &iperf2::Iperf2,
            Kind::Sockperf => &sockperf::Sockperf,
            Kind::Netperf => &netperf::Netperf,
            Kind::NeperTcpRr => &neper::Neper(Exchange::Tcp),
            Kind::NeperUdpRr => &neper::Neper(Exchange::Udp),
            Kind::NeperTcpCrr => &neper::Neper(Exchange::Connect),
            _ => bail!("{} exchanges nothing", path.display()),
        };
        Ok(Self { name, kind, path, dialect })
    }

    /// Whether it is linerate.
    pub(super) fn is_ours(&self) -> bool {
        self.kind == Kind::Linerate
    }

    /// Whether it does such an exchange.
    pub(super) fn takes(&self, exchange: Exchange) -> bool {
        self.dialect.takes(exchange)
    }

    /// A server on a host.
    pub(super) fn server(&self, host: &Host, task: &Task) -> Command {
        let path = match self.dialect.server_program() {
            // Beside the client, or wherever the search path has both.
            Some(name) => self.path.with_file_name(name),
            None => self.path.clone(),
        };
        let mut server = command(host, &path, &self.dialect.server(task));
        server.stdout(Stdio::null()).stderr(Stdio::null());
        server
    }

    /// A client on a host.
    pub(super) fn client(&self, host: &Host, task: &Task) -> Command {
        command(host, &self.path, &self.dialect.client(task))
    }

    /// Reads what the client prints.
    pub(super) fn read(&self, task: &Task, printed: &str) -> Result<Told> {
        self.dialect.read(task, printed)
    }
}

fn command(host: &Host, path: &Path, arguments: &str) -> Command {
    let mut command = host.command(path);
    command.args(arguments.split_whitespace()).stdin(Stdio::null());
    command
}

impl fmt::Display for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Connect => "connect",
        })
    }
}

/// Each run has hosts of its own, where every port is free.
const PORT: u16 = 5201;

#[cfg(test)]
const TASK: Task =
    Task { exchange: Exchange::Tcp, address: Ipv4Addr::LOCALHOST, seconds: 3, size: 64 };
