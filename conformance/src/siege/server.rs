//! The server under siege: its process, the events that it logs, its complaints.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use testbed::process::{Line, Running};
use testbed::usage::Usage;

use super::footprint::Footprint;
use super::topology::Host;

/// A running server. Dropped, it is killed.
pub(super) struct Server {
    running: Running,
    host: Host,
}

/// A line of the log.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) at: Instant,
    pub(super) value: Value,
}

/// How many tests it may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Capacity {
    /// What it takes by default.
    Default,
    /// One test at a time, and the others wait.
    Queue,
    /// More than any proof opens, so that no limit answers for the proof.
    Ample,
}

impl Server {
    /// Starts a server on a host and waits until it listens.
    pub(super) fn start(linerate: &Path, host: &Host, capacity: Capacity) -> anyhow::Result<Self> {
        let mut command = host.command(linerate);
        command.args(["serve", "--json", "--port", &PORT.to_string()]);
        match capacity {
            Capacity::Default => {}
            Capacity::Queue => _ = command.arg("--queue"),
            Capacity::Ample => _ = command.args(AMPLE),
        }
        let mut running = Running::captured(command)?;
        let is_listening = |line: &str| line.contains("\"listening\"");
        running.await_line(LISTEN_PATIENCE, is_listening)?;
        Ok(Self { running, host: host.clone() })
    }

    pub(super) const fn host(&self) -> &Host {
        &self.host
    }

    pub(super) fn usage(&self) -> Usage {
        self.running.usage()
    }

    pub(super) fn footprint(&self) -> anyhow::Result<Footprint> {
        Footprint::read(self.usage())
    }

    pub(super) fn is_alive(&mut self) -> bool {
        self.running.is_running()
    }

    /// What it printed to standard error.
    pub(super) fn complaints(&self) -> String {
        self.running.stderr()
    }

    /// All events so far.
    pub(super) fn events(&self) -> Vec<Event> {
        self.running.lines_from(0).iter().filter_map(Event::parse).collect()
    }
}

impl Event {
    fn parse(line: &Line) -> Option<Self> {
        Some(Self { at: line.at, value: serde_json::from_str(&line.text).ok()? })
    }

    /// Whether it has this name.
    pub(super) fn is(&self, name: &str) -> bool {
        self.value["event"] == name
    }

    /// The client that it is about.
    pub(super) fn client(&self) -> Option<SocketAddr> {
        let places = ["/test/peer/address", "/peer/address", "/client"];
        let text = places.iter().find_map(|place| self.value.pointer(place)?.as_str())?;
        text.parse().ok()
    }
}

/// 5201 (clause 2.1).
pub(super) const PORT: u16 = 5201;
/// Where clients on its own host find it.
pub(super) const LOCAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), PORT);
const AMPLE: [&str; 6] =
    ["--max-sessions", "4096", "--max-per-address", "4096", "--max-starts", "100000"];
const LISTEN_PATIENCE: Duration = Duration::from_secs(3);
