//! The log of `serve`: a line for each test, as text or JSON.

use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use measurement::json::value;
use measurement::outcome::Ending;
use measurement::record::Neighbour;
use measurement::units::{group_thousands, show_time};
use measurement::{ByteSize, DirectionOutcome, Peer, TestPlan};
use serde_json::{Value, json};
use session::server::{Log, Refusal, Served};

use super::confinement::Seal;
use super::readiness::Readiness;
use crate::lines::Lines;

/// A log that writes nothing.
pub(super) struct Silent;

impl Log for Silent {
    fn listening(&self, _address: SocketAddr) {}
    fn began(&self, _peer: &Peer, _plan: &TestPlan) {}
    fn ended(&self, _served: &Served) {}
    fn refused(&self, _client: SocketAddr, _why: Refusal) {}
}

/// A log that also notifies the service manager when the server stops (sd_notify(3)).
pub(super) struct Announced {
    pub(super) log: Box<dyn Log>,
    pub(super) readiness: Readiness,
}

impl Log for Announced {
    fn listening(&self, address: SocketAddr) {
        self.log.listening(address);
    }

    fn began(&self, peer: &Peer, plan: &TestPlan) {
        self.log.began(peer, plan);
    }

    fn ended(&self, served: &Served) {
        self.log.ended(served);
    }

    fn refused(&self, client: SocketAddr, why: Refusal) {
        self.log.refused(client, why);
    }

    fn tuning(&self, client: Option<SocketAddr>, what: &str) {
        self.log.tuning(client, what);
    }

    fn tuning_refused(&self, client: Option<SocketAddr>, why: &str) {
        self.log.tuning_refused(client, why);
    }

    fn stopping(&self, tests: usize) {
        self.readiness.stopping();
        self.log.stopping(tests);
    }
}

/// Facts that a server logs at its start, besides its port.
pub(super) struct Notices {
    /// Address of its metrics; none: it has none.
    pub(super) metrics: Option<SocketAddr>,
    /// How far its access to the file system is confined (landlock(7)).
    pub(super) seal: Seal,
}

/// A log of lines of text, for people.
pub(super) struct Text {
    voice: ThrottledLog,
    /// Whether a line begins with the time: journald writes it itself.
    stamps: bool,
    notices: Notices,
    /// Whether the begin of a test gets a line too.
    verbose: bool,
}

impl Text {
    pub(super) fn new(lines: Lines, verbose: bool, notices: Notices) -> Self {
        let suppressed = |clients| format!("{clients} more clients were not served");
        let stamps = std::env::var_os("JOURNAL_STREAM").is_none();
        Self { voice: ThrottledLog::new(lines, suppressed), stamps, notices, verbose }
    }

    fn write(&self, line: &str) {
        self.voice.write(self.stamped(line));
    }

    fn write_throttled(&self, line: &str) {
        self.voice.write_throttled(self.stamped(line));
    }

    fn stamped(&self, line: &str) -> String {
        if self.stamps {
            format!("{} {line}", linux::clock::utc_rfc3339())
        } else {
            line.to_owned()
        }
    }
}

impl Log for Text {
    fn listening(&self, address: SocketAddr) {
        let version = env!("CARGO_PKG_VERSION");
        self.write(&format!("linerate {version} listens on {address}, TCP and UDP"));
        if let Some(metrics) = self.notices.metrics {
            self.write(&format!("metrics at http://{metrics}/metrics"));
        }
        if self.verbose {
            self.notices.seal.user().iter().for_each(|line| self.write(line));
            self.write(&self.notices.seal.to_string());
            self.write(&self.notices.seal.calls());
        }
    }

    fn began(&self, peer: &Peer, plan: &TestPlan) {
        if self.verbose {
            self.write(&format!("{}: begins: {}", peer.address, describe_plan(peer, plan)));
        }
    }

    fn ended(&self, served: &Served) {
        let address = served.peer.address;
        let ending = match &served.ending {
            Ending::Completed => "done",
            Ending::Interrupted => "the client ended it",
            Ending::Failed { error } => error,
        };
        let Some(plan) = &served.plan else {
            return self.write_throttled(&format!("{address}: not served: {ending}"));
        };
        let what = describe_plan(&served.peer, plan);
        if served.streams.is_empty() {
            return self.write_throttled(&format!("{address}: {what}: not served: {ending}"));
        }
        let answered = served.answered.map(|count| format!("{} answered", group_thousands(count)));
        let dropped = (served.dropped > 0).then(|| {
            let count = group_thousands(served.dropped);
            format!("{count} dropped in this host's receive buffers")
        });
        let further = answered.into_iter().chain(dropped);
        let parts: Vec<_> = served.directions.iter().map(describe).chain(further).collect();
        let shared = describe_neighbours(&served.shared);
        self.write(&format!("{address}: {what}: {}{shared}: {ending}", parts.join("; ")));
    }

    fn refused(&self, client: SocketAddr, why: Refusal) {
        self.write_throttled(&format!("{client}: not served: {why}"));
    }

    fn tuning(&self, client: Option<SocketAddr>, what: &str) {
        self.write(&tuning_line(client, what));
    }

    fn tuning_refused(&self, client: Option<SocketAddr>, why: &str) {
        self.write_throttled(&tuning_line(client, why));
    }

    fn stopping(&self, tests: usize) {
        if tests == 0 {
            return;
        }
        let (these, them) =
            if tests == 1 { ("1 test has", "it") } else { ("all tests have", "them") };
        self.write(&format!("stops when {these} ended; a second signal ends {them} now"));
    }
}

/// A log with a JSON object for each event, on a line of its own.
pub(super) struct Json {
    voice: ThrottledLog,
    notices: Notices,
    verbose: bool,
}

impl Json {
    pub(super) fn new(lines: Lines, verbose: bool, notices: Notices) -> Self {
        let suppressed = |clients| stamped(json!({"event": "suppressed", "clients": clients}));
        Self { voice: ThrottledLog::new(lines, suppressed), notices, verbose }
    }

    fn write(&self, event: Value) {
        self.voice.write(stamped(event));
    }

    fn write_throttled(&self, event: Value) {
        self.voice.write_throttled(stamped(event));
    }
}

impl Log for Json {
    fn listening(&self, address: SocketAddr) {
        let (metrics, seal) = (self.notices.metrics, self.notices.seal.to_string());
        let version = env!("CARGO_PKG_VERSION");
        self.write(json!({
            "event": "listening", "linerate": version, "address": address, "metrics": metrics,
            "files": seal, "calls": self.notices.seal.calls(),
        }));
    }

    fn began(&self, peer: &Peer, plan: &TestPlan) {
        if self.verbose {
            self.write(json!({"event": "began", "peer": peer, "plan": value(plan)}));
        }
    }

    fn ended(&self, served: &Served) {
        if !served.streams.is_empty() {
            return self.write(json!({"event": "ended", "test": value(served)}));
        }
        let client = served.peer.address;
        let text = match &served.ending {
            Ending::Failed { error } => error,
            Ending::Completed | Ending::Interrupted => "the client ended it",
        };
        let reason = served.refusal.map_or("failed", Refusal::name);
        let why = json!({"reason": reason, "text": text});
        let (peer, plan) = (&served.peer, &served.plan);
        let event = json!({"event": "refused", "client": client, "why": why, "peer": peer, "plan": value(plan)});
        self.write_throttled(event);
    }

    fn refused(&self, client: SocketAddr, why: Refusal) {
        let why = json!({"reason": why.name(), "text": why.to_string()});
        self.write_throttled(json!({"event": "refused", "client": client, "why": why}));
    }

    fn tuning(&self, client: Option<SocketAddr>, what: &str) {
        self.write(json!({"event": "tuning", "client": client, "text": what}));
    }

    fn tuning_refused(&self, client: Option<SocketAddr>, why: &str) {
        self.write_throttled(json!({"event": "tuning", "client": client, "text": why}));
    }

    fn stopping(&self, tests: usize) {
        self.write(json!({"event": "stopping", "tests": tests}));
    }
}

fn tuning_line(client: Option<SocketAddr>, what: &str) -> String {
    let client = client.map_or_else(String::new, |client| format!("{client}: "));
    format!("{client}tuning: {what}")
}

/// The line of an event, with the time added.
fn stamped(mut event: Value) -> String {
    event["time"] = json!(linux::clock::utc_rfc3339());
    event.to_string()
}

fn describe_plan(peer: &Peer, plan: &TestPlan) -> String {
    let streams = if plan.streams == 1 { "stream" } else { "streams" };
    let title = plan.title();
    let kind = if plan.experiment.is_some() { ", an experiment" } else { "" };
    format!("{}, {title}, {} {streams}{kind}", peer.software, plan.streams)
}

fn describe(outcome: &DirectionOutcome) -> String {
    let Some(throughput) = outcome.headline() else { return outcome.direction.to_string() };
    let lost =
        outcome.datagrams.map_or_else(String::new, |d| format!(", {} of {} lost", d.lost, d.sent));
    let bytes = ByteSize::from_bytes(throughput.bytes);
    let span = show_time(throughput.span);
    format!("{} {bytes} in {span}, {}{lost}", outcome.direction, throughput.rate)
}

/// The number of concurrent tests, and what they moved.
fn describe_neighbours(shared: &[Neighbour]) -> String {
    let moving = || shared.iter().filter(|neighbour| neighbour.bytes > 0);
    let tests: u32 = moving().map(|neighbour| neighbour.tests).sum();
    if tests == 0 {
        return String::new();
    }
    let bytes = ByteSize::from_bytes(moving().map(|neighbour| neighbour.bytes).sum());
    let others = if tests == 1 { "1 other test" } else { &format!("{tests} other tests") };
    let named: Vec<_> = moving().filter_map(|neighbour| neighbour.address).collect();
    let first: Vec<_> = named.iter().take(MOST_NAMED).map(ToString::to_string).collect();
    let first = if first.is_empty() { "other clients".to_owned() } else { first.join(", ") };
    let more = if named.len() > MOST_NAMED { " and more" } else { "" };
    format!(" (beside {others} of {first}{more}, which moved {bytes})")
}

/// Writes lines; the lines on clients that are not served are limited in rate.
struct ThrottledLog {
    lines: Lines,
    throttle: Mutex<Throttle>,
    /// The line for a number of suppressed lines.
    suppressed: fn(u64) -> String,
}

impl ThrottledLog {
    fn new(lines: Lines, suppressed: fn(u64) -> String) -> Self {
        Self { lines, throttle: Mutex::default(), suppressed }
    }

    /// Writes a line about a test.
    fn write(&self, line: String) {
        self.write_suppressed(self.throttle().catch_up(Instant::now()));
        self.lines.write(line);
    }

    /// Writes a line about a client that was not served, unless there are too many of them.
    fn write_throttled(&self, line: String) {
        let (suppressed, may_write) = {
            let (mut throttle, now) = (self.throttle(), Instant::now());
            (throttle.catch_up(now), throttle.may_write(now))
        };
        self.write_suppressed(suppressed);
        if may_write {
            self.lines.write(line);
        }
    }

    fn write_suppressed(&self, suppressed: u64) {
        if suppressed > 0 {
            self.lines.write((self.suppressed)(suppressed));
        }
    }

    fn throttle(&self) -> MutexGuard<'_, Throttle> {
        self.throttle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ThrottledLog {
    fn drop(&mut self) {
        let suppressed = self.throttle().suppressed;
        self.write_suppressed(suppressed);
    }
}

/// Counts the lines of one second.
#[derive(Debug, Default)]
struct Throttle {
    began: Option<Instant>,
    written: u32,
    suppressed: u64,
}

impl Throttle {
    /// Number of lines that were suppressed in a past second.
    fn catch_up(&mut self, now: Instant) -> u64 {
        let is_over =
            self.began.is_none_or(|began| now.duration_since(began) >= Duration::from_secs(1));
        if is_over { std::mem::take(self).suppressed } else { 0 }
    }

    /// Whether one more line may be written; if not, it is counted.
    fn may_write(&mut self, now: Instant) -> bool {
        self.began.get_or_insert(now);
        let may = self.written < LINES_A_SECOND;
        if may {
            self.written += 1;
        } else {
            self.suppressed += 1;
        }
        may
    }
}

const LINES_A_SECOND: u32 = 10;
/// Clients that are named in a line.
const MOST_NAMED: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suppressed_lines_are_counted() {
        let mut throttle = Throttle::default();
        let start = Instant::now();
        let written = (0..25).filter(|_| throttle.may_write(start)).count();
        assert_eq!((written, throttle.catch_up(start)), (10, 0));
        let later = start + Duration::from_secs(1);
        assert_eq!(throttle.catch_up(later), 15);
        assert_eq!(throttle.catch_up(later), 0);
        assert!(throttle.may_write(later));
    }
}
