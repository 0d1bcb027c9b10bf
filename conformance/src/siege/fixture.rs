//! What every proof has: a server, what it took up before, and the table of what was measured.

use std::thread;
use std::time::Duration;

use super::Siege;
use super::client::{Good, Tried};
use super::footprint::{Footprint, await_return};
use super::limits::{Limit, LimitTable, Unit, median, worst};
use super::probe::start_latency;
use super::random::Random;
use super::script::Dialect;
use super::server::{Capacity, LOCAL, Server};
use super::topology::Host;
use crate::Verdict;
use crate::program::Programs;

/// A server that was warmed up, with the programs and the limits of a proof.
pub(super) struct Fixture {
    pub(super) programs: Programs,
    pub(super) server: Server,
    pub(super) limits: LimitTable,
    /// What the server took up when it had served somebody.
    pub(super) before: Footprint,
}

impl Fixture {
    /// Starts a server on a host and lets it serve `clients`.
    pub(super) fn start(
        siege: &Siege,
        proof: &'static str,
        host: &Host,
        capacity: Capacity,
        clients: &[Good],
    ) -> anyhow::Result<Self> {
        let programs = siege.programs.clone();
        let server = Server::start(&programs.linerate, host, capacity)?;
        let limits = siege.limits(proof);
        let mut fixture = Self { programs, server, limits, before: Footprint::default() };
        for client in clients {
            fixture.run(client)?;
        }
        thread::sleep(SETTLING);
        fixture.before = fixture.server.footprint()?;
        Ok(fixture)
    }

    /// Runs a good client on the server's own host.
    pub(super) fn run(&self, client: &Good) -> anyhow::Result<Tried> {
        client.run(&self.programs, self.server.host(), &LOCAL.ip().to_string())
    }

    /// Runs a good client on the server's own host, and holds it to its limit.
    pub(super) fn try_client(&mut self, client: &Good, when: &str) -> anyhow::Result<()> {
        let tried = self.run(client)?;
        let what = format!("{} of 1 s, {when}", client.name);
        if tried.is_well() {
            self.limits.add(&what, tried.seconds(), Unit::Seconds, client.limit());
        } else {
            self.limits.fail(&what, &tried.words());
        }
        Ok(())
    }

    /// Starts raw clients one after another, in both dialects by turns; each is to run soon.
    pub(super) fn try_starts(&mut self, count: usize) -> anyhow::Result<()> {
        let mut random = Random::from_seed(Random::fresh_seed());
        let tried = self.server.host().run(|| {
            let dialects = [Dialect::Iperf3, Dialect::Own].into_iter().cycle().take(count);
            dialects.map(|dialect| start_latency(LOCAL, dialect, &mut random)).collect::<Vec<_>>()
        })?;
        let limits = &mut self.limits;
        let latencies: Vec<_> = tried.iter().flatten().map(Duration::as_secs_f64).collect();
        let what = format!("clients of {count} that were served");
        limits.count(&what, latencies.len() as u64, Limit::Exactly(count as f64));
        for error in tried.iter().filter_map(|one| one.as_ref().err()).take(MOST_TOLD) {
            limits.note(&error.to_string());
        }
        let most = Limit::AtMost(MOST_LATENCY);
        limits.add("from connect to TEST_RUNNING, worst", worst(&latencies), Unit::Seconds, most);
        limits.note(&format!("median {:.4} s", median(&latencies)));
        Ok(())
    }

    /// Compares the server, which is left alone, with what it was.
    pub(super) fn judge(&mut self, patience: Duration) -> anyhow::Result<()> {
        let (server, limits) = (&mut self.server, &mut self.limits);
        if !server.is_alive() {
            limits.fail("the server lives", &server.complaints());
            return Ok(());
        }
        let (returned, _) = await_return(server.usage(), self.before, patience)?;
        thread::sleep(SETTLING);
        let after = server.footprint()?;
        if let Some(time) = returned {
            let limit = Limit::AtMost(patience.as_secs_f64());
            let what = "until threads and descriptors are back";
            limits.add(what, time.as_secs_f64(), Unit::Seconds, limit);
        }
        let Footprint { threads, descriptors, .. } = self.before;
        let grown = after.mebibytes() - self.before.mebibytes();
        let panics = server.complaints().matches("panicked").count();
        limits.count("threads afterwards", after.threads, Limit::AtMost(threads as f64));
        let most = Limit::AtMost(descriptors as f64);
        limits.count("descriptors afterwards", after.descriptors, most);
        let most = Limit::AtMost(MOST_GROWN);
        limits.add("resident memory, grown by", grown, Unit::Mebibytes, most);
        limits.count("panics", panics as u64, Limit::Exactly(0.0));
        Ok(())
    }

    /// Judges the server and sums the proof up.
    pub(super) fn close(mut self, patience: Duration) -> anyhow::Result<Verdict> {
        self.judge(patience)?;
        Ok(self.limits.close())
    }
}

/// Seconds.
const MOST_LATENCY: f64 = 0.2;
const MOST_TOLD: usize = 3;
/// MiB.
const MOST_GROWN: f64 = 8.0;
/// How long a server has no tests before its memory is looked at: it gives back what it
/// does not use when it has rested for a second.
const SETTLING: Duration = Duration::from_secs(2);
