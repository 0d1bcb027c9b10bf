//! The server under siege: its process, the events that it logs, its complaints.

use std::io::{BufRead, BufReader, Read};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::Value;

use super::footprint::Footprint;
use super::yard::Place;

/// A running server. Dropped, it is killed.
pub(super) struct Server {
    child: Child,
    place: Place,
    log: Arc<Mutex<Vec<Event>>>,
    complaints: Arc<Mutex<String>>,
}

/// A line of the log.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) at: Instant,
    pub(super) value: Value,
}

/// How many tests it is told to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Capacity {
    /// What it takes by default.
    Default,
    /// More than any proof opens, so that no limit answers for the proof.
    Ample,
}

impl Server {
    /// Starts a server on a host and waits until it listens.
    pub(super) fn start(
        linerate: &Path,
        place: &Place,
        capacity: Capacity,
    ) -> anyhow::Result<Self> {
        let mut command = place.command(linerate);
        command.args(["serve", "--json", "--port", &PORT.to_string()]);
        if capacity == Capacity::Ample && has_limits(linerate)? {
            command.args(AMPLE);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().context("cannot start the server")?;
        let log = Arc::default();
        let complaints = Arc::default();
        let stdout = child.stdout.take().context("the server has no output")?;
        let stderr = child.stderr.take().context("the server has no standard error")?;
        thread::spawn({
            let log = Arc::clone(&log);
            move || follow(stdout, &log)
        });
        thread::spawn({
            let complaints = Arc::clone(&complaints);
            move || listen_to(stderr, &complaints)
        });
        let server = Self { child, place: place.clone(), log, complaints };
        server.await_event(LISTEN_PATIENCE, |event| event.is("listening"))?;
        Ok(server)
    }

    pub(super) const fn place(&self) -> &Place {
        &self.place
    }

    pub(super) fn process(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn footprint(&self) -> anyhow::Result<Footprint> {
        Footprint::of(self.process())
    }

    pub(super) fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// What it printed to standard error.
    pub(super) fn complaints(&self) -> String {
        lock(&self.complaints).clone()
    }

    /// All events so far.
    pub(super) fn events(&self) -> Vec<Event> {
        lock(&self.log).clone()
    }

    /// Waits for an event, which may have come before.
    pub(super) fn await_event(
        &self,
        patience: Duration,
        is_it: impl Fn(&Event) -> bool,
    ) -> anyhow::Result<Event> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(event) = lock(&self.log).iter().find(|event| is_it(event)) {
                return Ok(event.clone());
            }
            if Instant::now() > deadline {
                bail!("the server does not report what it should: {}", self.complaints());
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

impl Event {
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

/// Whether it knows the flags that raise its limits.
fn has_limits(linerate: &Path) -> anyhow::Result<bool> {
    let help = Command::new(linerate).args(["serve", "--help"]).output();
    let help = help.with_context(|| format!("cannot run {}", linerate.display()))?;
    Ok(String::from_utf8_lossy(&help.stdout).contains("--max-per-address"))
}

fn follow(stdout: impl Read, log: &Mutex<Vec<Event>>) {
    for line in BufReader::new(stdout).lines().map_while(Result::ok) {
        let at = Instant::now();
        if let Ok(value) = serde_json::from_str(&line) {
            lock(log).push(Event { at, value });
        }
    }
}

fn listen_to(stderr: impl Read, complaints: &Mutex<String>) {
    for line in BufReader::new(stderr).lines().map_while(Result::ok) {
        let mut text = lock(complaints);
        text.push_str(&line);
        text.push('\n');
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The programs under test.
#[derive(Clone, Debug)]
pub(super) struct Programs {
    pub(super) linerate: PathBuf,
    pub(super) iperf3: PathBuf,
}

/// 5201 (clause 2.1).
pub(super) const PORT: u16 = 5201;
/// Where clients on its own host find it.
pub(super) const LOCAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), PORT);
const AMPLE: [&str; 6] =
    ["--max-sessions", "4096", "--max-per-address", "4096", "--max-starts", "100000"];
const LISTEN_PATIENCE: Duration = Duration::from_secs(3);
const POLL_INTERVAL: Duration = Duration::from_millis(2);
