//! `linerate serve`.

use std::io::Write;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use linux::event::Interrupts;
use measurement::outcome::Ending;
use measurement::units::show_duration;
use measurement::{DirectionOutcome, Peer, TestPlan};
use serde_json::json;
use session::server::{Log, Served, Server, ServerOptions};

use crate::flags::ServeFlags;

pub(crate) fn run(flags: ServeFlags) -> anyhow::Result<ExitCode> {
    let interrupts = Interrupts::take().context("cannot handle signals")?;
    let options = ServerOptions {
        bind: flags.bind,
        port: flags.port,
        family: flags.family.into(),
        one_off: flags.one_off,
        cpus: flags.cpus.map(|cpus| cpus.0).unwrap_or_default(),
    };
    let log: Arc<dyn Log> = match (flags.quiet, flags.json) {
        (true, _) => Arc::new(Silent),
        (_, true) => Arc::new(JsonLines),
        _ => Arc::new(Lines),
    };
    Server::bind(options)?.run(log, Some(&interrupts))?;
    Ok(ExitCode::SUCCESS)
}

/// Says nothing.
struct Silent;

impl Log for Silent {
    fn listening(&self, _address: SocketAddr) {}
    fn began(&self, _peer: &Peer, _plan: &TestPlan) {}
    fn ended(&self, _served: &Served) {}
    fn refused(&self, _client: SocketAddr, _why: &str) {}
}

/// One line for each event, on standard output.
struct Lines;

impl Log for Lines {
    fn listening(&self, address: SocketAddr) {
        print(&format!("linerate {} listens on {address}, TCP and UDP", env!("CARGO_PKG_VERSION")));
    }

    fn began(&self, peer: &Peer, plan: &TestPlan) {
        let streams = if plan.streams == 1 { "stream" } else { "streams" };
        let title = report::terminal::title(plan);
        print(&format!(
            "{} ({}): {title}, {} {streams}",
            peer.address, peer.software, plan.streams
        ));
    }

    fn ended(&self, served: &Served) {
        let parts: Vec<_> = served.directions.iter().map(describe).collect();
        let what = if parts.is_empty() { "no test".to_owned() } else { parts.join("; ") };
        let ending = match &served.ending {
            Ending::Completed => "done".to_owned(),
            Ending::Interrupted => "the client ended it".to_owned(),
            Ending::Failed { error } => error.clone(),
        };
        print(&format!("{}: {what}: {ending}", served.peer.address));
    }

    fn refused(&self, client: SocketAddr, why: &str) {
        print(&format!("{client}: sent away: {why}"));
    }
}

/// One JSON object for each event, on a line of its own.
struct JsonLines;

impl Log for JsonLines {
    fn listening(&self, address: SocketAddr) {
        print(&json!({"event": "listening", "address": address}).to_string());
    }

    fn began(&self, peer: &Peer, plan: &TestPlan) {
        print(&json!({"event": "began", "peer": peer, "plan": plan}).to_string());
    }

    fn ended(&self, served: &Served) {
        print(&json!({"event": "ended", "test": served}).to_string());
    }

    fn refused(&self, client: SocketAddr, why: &str) {
        print(&json!({"event": "refused", "client": client, "why": why}).to_string());
    }
}

fn describe(outcome: &DirectionOutcome) -> String {
    let Some(throughput) = outcome.headline() else { return outcome.direction.to_string() };
    let lost =
        outcome.datagrams.map_or_else(String::new, |d| format!(", {} of {} lost", d.lost, d.sent));
    format!("{} {} in {}{lost}", outcome.direction, throughput.rate, show_duration(throughput.span))
}

fn print(line: &str) {
    // A log that nobody reads any more is no reason to stop serving.
    _ = writeln!(anstream::stdout(), "{line}");
}
