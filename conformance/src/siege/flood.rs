//! Proof: connections that are opened and dropped disturb no test, and cost little.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use testbed::port;
use testbed::process::Running;
use testbed::usage::Usage;

use super::Siege;
use super::client::{ALL, Tried};
use super::dropper::{Dropped, Dropper, Says};
use super::fixture::Fixture;
use super::limits::{Limit, LimitTable, Unit, median, worst};
use super::probe::start_latency;
use super::random::Random;
use super::script::Dialect;
use super::server::{Capacity, LOCAL, Server};
use super::topology::{Host, Star};
use crate::Verdict;
use crate::program::Programs;

pub(super) fn run(siege: &Siege) -> anyhow::Result<Verdict> {
    let star = Star::new()?;
    // One address opens more connections than the usual range has ports for.
    star.server.set("ipv4/ip_local_port_range", "10000 65000")?;
    let mut fixture = Fixture::start(siege, "flood", &star.server, Capacity::Ample, &ALL[..3])?;
    let time = siege.time(Duration::from_secs(30), Duration::from_secs(3));
    for transport in ["TCP", "UDP"] {
        let beside = Beside::run(&star.server, &fixture.programs, transport, time)?;
        beside.report(&mut fixture.limits, transport);
    }
    let (rounds, count) = if siege.short { (3, 8_000) } else { (5, 20_000) };
    cost(&mut fixture.limits, &fixture.server, rounds, count)?;
    fixture.close(RETURN)
}

/// A test beside a flood.
struct Beside {
    flood: Dropped,
    tried: Tried,
    /// Seconds from a connect to TEST_RUNNING.
    latencies: Vec<f64>,
    unserved: Vec<String>,
}

impl Beside {
    fn run(
        host: &Host,
        programs: &Programs,
        transport: &str,
        time: Duration,
    ) -> anyhow::Result<Self> {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let dropper = Dropper { server: LOCAL, rate: RATE, says: Says::Nothing };
            let stop = &stop;
            let flooding = scope.spawn(move || host.run(|| dropper.run(u64::MAX, stop)));
            let probing = scope.spawn(move || host.run(|| probe(LOCAL, stop)));
            thread::sleep(LEAD);
            let ran = client(host, programs, transport, time);
            stop.store(true, Relaxed);
            let flood = join(flooding)??;
            let (latencies, unserved) = join(probing)??;
            Ok(Self { flood, tried: ran?, latencies, unserved })
        })
    }

    fn report(&self, limits: &mut LimitTable, transport: &str) {
        let rate = self.flood.rate();
        let what = format!("connections in a second beside {transport}");
        limits.add(&what, rate, Unit::Count, Limit::None);
        if rate < f64::from(RATE) * 0.95 || self.flood.failed > 0 {
            limits.note(&format!(
                "{RATE} were aimed at; {} were not opened within the generator's patience",
                self.flood.failed
            ));
        }
        let end = &self.tried.report()["end"];
        if !self.tried.is_well() {
            limits.fail(&format!("{transport} of 200 Mbit/s"), &self.tried.words());
        } else if transport == "UDP" {
            let lost = end["sum"]["lost_percent"].as_f64().unwrap_or(100.0);
            limits.add("UDP of 200 Mbit/s, lost", lost, Unit::Percent, Limit::AtMost(1.0));
        } else {
            let rate = end["sum_received"]["bits_per_second"].as_f64().unwrap_or_default() / 1e6;
            limits.add("TCP of 200 Mbit/s", rate, Unit::Megabits, Limit::AtLeast(198.0));
        }
        let what = format!("from connect to TEST_RUNNING beside {transport}, worst");
        if self.latencies.is_empty() {
            limits.fail(&what, self.unserved.first().map_or("nobody asked", String::as_str));
            return;
        }
        limits.add(&what, worst(&self.latencies), Unit::Seconds, Limit::AtMost(MOST_LATENCY));
        let (count, middle) = (self.latencies.len(), median(&self.latencies));
        limits.note(&format!("median {middle:.4} s of {count}"));
        let unserved = self.unserved.len() as u64;
        limits.count("of these not served", unserved, Limit::Exactly(0.0));
        limits.note(self.unserved.first().map_or("", String::as_str));
    }
}

fn join<T>(thread: thread::ScopedJoinHandle<'_, T>) -> anyhow::Result<T> {
    thread.join().map_err(|_| anyhow::anyhow!("a thread of the flood panicked"))
}

fn client(
    host: &Host,
    programs: &Programs,
    transport: &str,
    time: Duration,
) -> anyhow::Result<Tried> {
    let mut command = host.command(&programs.iperf3);
    let seconds = time.as_secs().to_string();
    command.args(["-c", "127.0.0.1", "-J", "-b", "200M", "-t", &seconds]);
    if transport == "UDP" {
        command.args(["-u", "-l", "1460"]);
    }
    Ok(Tried(Running::captured(command)?.finish(time + PATIENCE)?))
}

/// Asks for a test again and again.
fn probe(server: SocketAddr, stop: &AtomicBool) -> (Vec<f64>, Vec<String>) {
    let mut random = Random::from_seed(Random::fresh_seed());
    let (mut latencies, mut unserved) = (Vec::new(), Vec::new());
    thread::sleep(LEAD);
    while !stop.load(Relaxed) {
        match start_latency(server, Dialect::Iperf3, &mut random) {
            Ok(latency) => latencies.push(latency.as_secs_f64()),
            Err(error) => unserved.push(error.to_string()),
        }
        thread::sleep(PROBE_INTERVAL);
    }
    (latencies, unserved)
}

/// CPU time for each dropped connection, the server's against that of the least that
/// can be done, by turns.
fn cost(limits: &mut LimitTable, server: &Server, rounds: usize, count: u64) -> anyhow::Result<()> {
    let bare = start_bare(server.host())?;
    let [mut ours, mut least, mut named] = [const { Vec::new() }; 3];
    for _ in 0..rounds {
        for (process, address, says, costs) in [
            (bare.usage(), BARE, Says::Nothing, &mut least),
            (server.usage(), LOCAL, Says::Nothing, &mut ours),
            (server.usage(), LOCAL, Says::Cookie, &mut named),
        ] {
            let dropper = Dropper { server: address, rate: RATE, says };
            costs.push(cost_of(server.host(), process, dropper, count)?);
        }
    }
    let (ours, least, named) = (median(&ours), median(&least), median(&named));
    for (what, cost) in [
        ("CPU time for each, accepted and closed by a bare loop", least),
        ("CPU time for each, by the server", ours),
        ("CPU time for each that said a cookie", named),
    ] {
        limits.add(what, cost, Unit::Micros, Limit::None);
    }
    let most = Limit::AtMost(MOST_COST);
    limits.add("the server against the bare loop", ours / least, Unit::Times, most);
    Ok(())
}

/// Microseconds of a process for each connection.
fn cost_of(host: &Host, process: Usage, flood: Dropper, count: u64) -> anyhow::Result<f64> {
    let before = process.cpu_time()?;
    let dropped = host.run(|| flood.run(count, &AtomicBool::new(false)))?;
    // What was dropped last is still to be found.
    thread::sleep(LAST_ONES);
    let used = process.cpu_time()?.saturating_sub(before);
    Ok(used.as_secs_f64() * 1e6 / dropped.connections.max(1) as f64)
}

/// Starts the bare loop and waits until it listens.
fn start_bare(host: &Host) -> anyhow::Result<Running> {
    let own = std::env::current_exe().context("cannot find this program")?;
    let mut command = host.command(own);
    command.args(["bare", &BARE.to_string()]);
    let bare = Running::silent(command)?;
    host.run(|| port::await_answer(None, BARE))??;
    Ok(bare)
}

/// Connections in a second.
const RATE: u32 = 10_000;
/// Seconds.
const MOST_LATENCY: f64 = 0.2;
const MOST_COST: f64 = 1.5;
const BARE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 5202);
const LEAD: Duration = Duration::from_millis(300);
const PROBE_INTERVAL: Duration = Duration::from_millis(150);
const LAST_ONES: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(8);
const RETURN: Duration = Duration::from_secs(15);
