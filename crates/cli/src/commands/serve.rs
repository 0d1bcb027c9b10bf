//! `linerate serve`.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use linux::event::Interrupts;
use measurement::outcome::Ending;
use measurement::units::show_duration;
use measurement::{DirectionOutcome, Peer, TestPlan};
use serde_json::json;
use session::server::{Log, Served, Server, ServerOptions, SessionOptions};

use crate::flags::ServeFlags;
use crate::lines::Lines;

pub(crate) fn run(flags: ServeFlags) -> anyhow::Result<ExitCode> {
    let interrupts = Interrupts::take().context("cannot handle signals")?;
    let options = ServerOptions {
        bind: flags.bind,
        port: flags.port,
        family: flags.family.into(),
        one_off: flags.one_off,
        idle_limit: None,
        session: SessionOptions {
            cpus: flags.cpus.map(|cpus| cpus.0).unwrap_or_default(),
            ..SessionOptions::default()
        },
    };
    linux::host::raise_file_limit();
    let server = Server::bind(options)?;
    let (lines, written) = Lines::start().context("cannot start the log's thread")?;
    let log: Arc<dyn Log> = match (flags.quiet, flags.json) {
        (true, _) => Arc::new(Silent),
        (_, true) => Arc::new(JsonLog(lines)),
        _ => Arc::new(TextLog(lines)),
    };
    server.run(log, Some(&interrupts))?;
    written.wait();
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

/// One line for each event.
struct TextLog(Lines);

impl Log for TextLog {
    fn listening(&self, address: SocketAddr) {
        self.0.write(format!(
            "linerate {} listens on {address}, TCP and UDP",
            env!("CARGO_PKG_VERSION")
        ));
    }

    fn began(&self, peer: &Peer, plan: &TestPlan) {
        let streams = if plan.streams == 1 { "stream" } else { "streams" };
        let title = report::terminal::title(plan);
        self.0.write(format!(
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
        self.0.write(format!("{}: {what}: {ending}", served.peer.address));
    }

    fn refused(&self, client: SocketAddr, why: &str) {
        self.0.write(format!("{client}: sent away: {why}"));
    }
}

/// One JSON object for each event, on a line of its own.
struct JsonLog(Lines);

impl Log for JsonLog {
    fn listening(&self, address: SocketAddr) {
        self.0.write(json!({"event": "listening", "address": address}).to_string());
    }

    fn began(&self, peer: &Peer, plan: &TestPlan) {
        self.0.write(json!({"event": "began", "peer": peer, "plan": plan}).to_string());
    }

    fn ended(&self, served: &Served) {
        self.0.write(json!({"event": "ended", "test": served}).to_string());
    }

    fn refused(&self, client: SocketAddr, why: &str) {
        self.0.write(json!({"event": "refused", "client": client, "why": why}).to_string());
    }
}

fn describe(outcome: &DirectionOutcome) -> String {
    let Some(throughput) = outcome.headline() else { return outcome.direction.to_string() };
    let lost =
        outcome.datagrams.map_or_else(String::new, |d| format!(", {} of {} lost", d.lost, d.sent));
    format!("{} {} in {}{lost}", outcome.direction, throughput.rate, show_duration(throughput.span))
}
