//! One run: a server, its client, and what was seen of both from outside.

use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::candidate::Candidate;
use crate::figures::{Figures, Metric};
use crate::machine::Machine;
use crate::process::{self, Ended, Running};
use crate::program::{Printed, Report};
use crate::topology::Topology;
use crate::workload::{Test, Traffic};

/// Runs a test between the hosts of a new topology, with a server of its own. Returns what the
/// program reports, and the figures of the run.
///
/// # Errors
/// The program fails, or no data arrive.
pub fn run(candidate: &Candidate, topology: &Topology, test: &Test) -> Result<(Report, Figures)> {
    let test = &candidate.test(test);
    // It may not listen yet.
    process::patiently(|| {
        let server = Running::start(candidate.server(topology.server(), test))
            .with_context(|| format!("the server of {}", candidate.name))?;
        // A datagram that comes before it listens is lost.
        thread::sleep(SETTLE);
        attempt(candidate, server, topology, test)
    })
}

fn attempt(
    candidate: &Candidate,
    server: Running,
    topology: &Topology,
    test: &Test,
) -> Result<(Report, Figures)> {
    let direction = test.workload.direction;
    let (machine, received) = (Machine::read()?, topology.received(direction)?);
    let limit = GRACE + Duration::from_secs(test.seconds().into());
    let seen = Seen::of(&server, candidate.client(topology.client(), test), limit, PAUSE)?;
    let received_after = topology.received(direction)?;
    let printed = Printed { client: seen.client.stdout.clone(), server: server.stop()?.stdout };
    let report = candidate.program.program.read(test, &printed);
    let report = report.map_err(|error| seen.client.blame(error))?;
    ensure!(report.count > 0.0, "nothing arrived");
    let mut figures = seen.figures(&report);
    if !matches!(test.workload.traffic, Traffic::Exchange(_)) {
        let payload = received_after.payload_since(received, topology.headers(&test.workload));
        figures.push(Metric::Excess, (report.count / payload as f64 - 1.0) * 100.0);
    }
    let own = (seen.client.cpu + seen.server_cpu).as_secs_f64();
    figures.push(Metric::Others, Machine::read()?.others_since(machine, own));
    figures.extend(report.figures.clone());
    Ok((report, figures))
}

/// Time and memory that a client and its server used, as the kernel counted them.
#[derive(Debug)]
pub struct Seen {
    /// The client, which has ended.
    pub client: Ended,
    server_cpu: Duration,
    /// None if the server ended with its client.
    server_memory: Option<u64>,
}

impl Seen {
    /// Runs a client for at most `limit`, with its running `server`. The counters of the server are
    /// read `pause` later, since it is still closing its sockets when the client has ended.
    ///
    /// # Errors
    /// The client does not end in time, or the server has ended before it.
    pub fn of(server: &Running, client: Command, limit: Duration, pause: Duration) -> Result<Self> {
        let usage = server.usage();
        let before = usage.cpu_time()?;
        let client = process::finish(client, limit)?;
        thread::sleep(pause);
        let server_cpu = usage.cpu_time()?.saturating_sub(before);
        Ok(Self { client, server_cpu, server_memory: usage.peak_memory() })
    }

    /// The rate, the CPU seconds of both ends for each byte or exchange of `report`, and their peak
    /// memory in bytes.
    pub fn figures(&self, report: &Report) -> Figures {
        let (client, server) = (self.client.cpu.as_secs_f64(), self.server_cpu.as_secs_f64());
        let mut figures = usage(report, client, server);
        let (client, server) =
            (self.client.peak_memory as f64, self.server_memory.map(|bytes| bytes as f64));
        figures.push(Metric::ClientMemory, client);
        figures.push(Metric::ServerMemory, server);
        figures.push(Metric::BothMemory, server.map(|server| client + server));
        figures
    }
}

/// The rate of `report`, and the CPU seconds for each byte or exchange. `client_cpu` and
/// `server_cpu` are CPU seconds of the whole run.
pub fn usage(report: &Report, client_cpu: f64, server_cpu: f64) -> Figures {
    Figures::from_iter([
        (Metric::Rate, report.rate),
        (Metric::Cpu, (client_cpu + server_cpu) / report.count),
        (Metric::ClientCpu, client_cpu / report.count),
        (Metric::ServerCpu, server_cpu / report.count),
    ])
}

/// What a server gets to listen.
const SETTLE: Duration = Duration::from_millis(50);
/// What a server gets to close thousands of sockets.
const PAUSE: Duration = Duration::from_millis(200);
/// How much longer than asked a run may take.
const GRACE: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_shared_out_among_bytes_or_exchanges() {
        let report = Report { count: 200_000.0, rate: 50_000.0, ..Report::default() };
        let figures = usage(&report, 2.0, 1.0);
        assert_eq!(figures.get(Metric::Rate), Some(50_000.0));
        assert_eq!(figures.get(Metric::ClientCpu), Some(10e-6));
        assert_eq!(figures.get(Metric::ServerCpu), Some(5e-6));
        assert_eq!(figures.get(Metric::Cpu), Some(15e-6));
        assert_eq!(figures.get(Metric::P99), None);
    }
}
