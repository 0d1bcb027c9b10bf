//! What `serve` says: a line for each test, in text or as JSON.

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use measurement::outcome::Ending;
use measurement::record::Neighbour;
use measurement::units::show_duration;
use measurement::{ByteSize, DirectionOutcome, Peer, TestPlan};
use serde_json::json;
use session::server::{Log, Refusal, Served};

use super::confinement::Seal;
use super::readiness::Readiness;
use crate::lines::Lines;

/// Says nothing.
pub(super) struct Silent;

impl Log for Silent {
    fn listening(&self, _address: SocketAddr) {}
    fn began(&self, _peer: &Peer, _plan: &TestPlan) {}
    fn ended(&self, _served: &Served) {}
    fn refused(&self, _client: SocketAddr, _why: Refusal) {}
}

/// A log of a server that a service manager waits for.
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

    fn stopping(&self, tests: usize) {
        self.readiness.stopping();
        self.log.stopping(tests);
    }
}

/// What there is to say of a server beside its port.
pub(super) struct Notices {
    /// Where its metrics are.
    pub(super) metrics: Option<SocketAddr>,
    /// How far the file system is shut to it.
    pub(super) seal: Seal,
}

/// Lines for people.
pub(super) struct Text {
    lines: Lines,
    notices: Notices,
    /// A line for the beginning of a test too.
    verbose: bool,
    throttle: Throttle,
}

impl Text {
    pub(super) fn new(lines: Lines, verbose: bool, notices: Notices) -> Self {
        Self { lines, notices, verbose, throttle: Throttle::default() }
    }

    /// Writes about one that was not served, unless there are too many of them.
    fn complain(&self, line: String) {
        let verdict = self.throttle.judge(Instant::now());
        if verdict.unsaid > 0 {
            self.lines.write(format!("{} more clients were not served", verdict.unsaid));
        }
        if verdict.say {
            self.lines.write(line);
        }
    }
}

impl Log for Text {
    fn listening(&self, address: SocketAddr) {
        self.lines.write(format!(
            "linerate {} listens on {address}, TCP and UDP",
            env!("CARGO_PKG_VERSION")
        ));
        if let Some(metrics) = self.notices.metrics {
            self.lines.write(format!("metrics at http://{metrics}/metrics"));
        }
        if self.verbose {
            self.lines.write(self.notices.seal.to_string());
        }
    }

    fn began(&self, peer: &Peer, plan: &TestPlan) {
        if self.verbose {
            self.lines.write(format!("{}: begins: {}", peer.address, describe_plan(peer, plan)));
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
            return self.complain(format!("{address}: no test: {ending}"));
        };
        let what = describe_plan(&served.peer, plan);
        let parts: Vec<_> = served.directions.iter().map(describe).collect();
        let moved = if parts.is_empty() { "nothing moved".to_owned() } else { parts.join("; ") };
        let shared = describe_neighbours(&served.shared);
        self.lines.write(format!("{address}: {what}: {moved}{shared}: {ending}"));
    }

    fn refused(&self, client: SocketAddr, why: Refusal) {
        self.complain(format!("{client}: not served: {why}"));
    }

    fn stopping(&self, tests: usize) {
        if tests == 0 {
            return;
        }
        let (these, them) =
            if tests == 1 { ("1 test has", "it") } else { ("all tests have", "them") };
        self.lines.write(format!("stops when {these} ended; a second signal ends {them} now"));
    }
}

/// One JSON object for each event, on a line of its own.
pub(super) struct Json {
    lines: Lines,
    notices: Notices,
    verbose: bool,
    throttle: Throttle,
}

impl Json {
    pub(super) fn new(lines: Lines, verbose: bool, notices: Notices) -> Self {
        Self { lines, notices, verbose, throttle: Throttle::default() }
    }

    fn complain(&self, line: &serde_json::Value) {
        let verdict = self.throttle.judge(Instant::now());
        if verdict.unsaid > 0 {
            self.lines.write(json!({"event": "unsaid", "clients": verdict.unsaid}).to_string());
        }
        if verdict.say {
            self.lines.write(line.to_string());
        }
    }
}

impl Log for Json {
    fn listening(&self, address: SocketAddr) {
        let (metrics, seal) = (self.notices.metrics, self.notices.seal.to_string());
        let event =
            json!({"event": "listening", "address": address, "metrics": metrics, "files": seal});
        self.lines.write(event.to_string());
    }

    fn began(&self, peer: &Peer, plan: &TestPlan) {
        if self.verbose {
            self.lines.write(json!({"event": "began", "peer": peer, "plan": plan}).to_string());
        }
    }

    fn ended(&self, served: &Served) {
        let event = json!({"event": "ended", "test": served});
        if served.plan.is_some() {
            self.lines.write(event.to_string());
        } else {
            self.complain(&event);
        }
    }

    fn refused(&self, client: SocketAddr, why: Refusal) {
        let why = json!({"reason": why.name(), "text": why.to_string()});
        self.complain(&json!({"event": "refused", "client": client, "why": why}));
    }

    fn stopping(&self, tests: usize) {
        self.lines.write(json!({"event": "stopping", "tests": tests}).to_string());
    }
}

fn describe_plan(peer: &Peer, plan: &TestPlan) -> String {
    let streams = if plan.streams == 1 { "stream" } else { "streams" };
    let title = report::terminal::title(plan);
    format!("{}, {title}, {} {streams}", peer.software, plan.streams)
}

fn describe(outcome: &DirectionOutcome) -> String {
    let Some(throughput) = outcome.headline() else { return outcome.direction.to_string() };
    let lost =
        outcome.datagrams.map_or_else(String::new, |d| format!(", {} of {} lost", d.lost, d.sent));
    let bytes = ByteSize::from_bytes(throughput.bytes);
    let span = show_duration(throughput.span);
    format!("{} {bytes} in {span}, {}{lost}", outcome.direction, throughput.rate)
}

/// How many others there were, and what they took.
fn describe_neighbours(shared: &[Neighbour]) -> String {
    let tests: u32 = shared.iter().map(|neighbour| neighbour.tests).sum();
    if tests == 0 {
        return String::new();
    }
    let bytes = ByteSize::from_bytes(shared.iter().map(|neighbour| neighbour.bytes).sum());
    let others = if tests == 1 { "1 other test" } else { &format!("{tests} other tests") };
    format!(" (beside {others}, which moved {bytes})")
}

/// A flood of clients that are not served is no flood of lines.
#[derive(Debug, Default)]
struct Throttle(Mutex<Second>);

/// What was said within one second.
#[derive(Debug, Default)]
struct Second {
    began: Option<Instant>,
    said: u32,
    unsaid: u64,
}

/// What to do with a line.
#[derive(Debug, PartialEq, Eq)]
struct Verdict {
    say: bool,
    /// So many lines of the second before were not said.
    unsaid: u64,
}

impl Throttle {
    fn judge(&self, now: Instant) -> Verdict {
        let mut second = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new =
            second.began.is_none_or(|began| now.duration_since(began) >= Duration::from_secs(1));
        let unsaid = if is_new { second.unsaid } else { 0 };
        if is_new {
            *second = Second { began: Some(now), said: 0, unsaid: 0 };
        }
        let say = second.said < LINES_A_SECOND;
        if say {
            second.said += 1;
        } else {
            second.unsaid += 1;
        }
        Verdict { say, unsaid }
    }
}

const LINES_A_SECOND: u32 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_said_is_counted() {
        let throttle = Throttle::default();
        let start = Instant::now();
        let said = (0..25).filter(|_| throttle.judge(start).say).count();
        assert_eq!(said, 10);
        let later = start + Duration::from_secs(1);
        assert_eq!(throttle.judge(later), Verdict { say: true, unsaid: 15 });
        assert_eq!(throttle.judge(later), Verdict { say: true, unsaid: 0 });
    }
}
