//! One run: a server, its client, and what was seen of both from outside.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::candidate::Candidate;
use crate::figures::{Figures, Metric};
use crate::interface::{Counters, Headers};
use crate::machine::Machine;
use crate::process::{self, Ended, Running};
use crate::program::{Printed, Report};
use crate::topology::Topology;
use crate::workload::{Test, Traffic, Workload};

/// Runs a test between the hosts of a topology that has had none, with a server of its own.
///
/// # Errors
/// The program fails, or nothing arrives.
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
    let server_before = server.usage().cpu_time()?;
    let limit = GRACE + Duration::from_secs(test.seconds().into());
    let client = process::finish(candidate.client(topology.client(), test), limit)?;
    // The server is still closing its sockets when the client has gone.
    thread::sleep(PAUSE);
    let server_cpu = server.usage().cpu_time()?.saturating_sub(server_before);
    let seen = Seen {
        client_cpu: client.cpu.as_secs_f64(),
        server_cpu: server_cpu.as_secs_f64(),
        machine,
        received: (received, topology.received(direction)?),
        headers: topology.headers(&test.workload),
        server_memory: server.usage().peak_memory(),
    };
    let printed = Printed { client: client.stdout.clone(), server: server.stop()?.stdout };
    let report = candidate.program.program.read(test, &printed);
    let report = report.map_err(|error| client.blame(error))?;
    ensure!(report.count > 0.0, "nothing arrived");
    let figures = seen.figures(&test.workload, &report, &client)?;
    Ok((report, figures))
}

/// What was seen of a run from outside.
struct Seen {
    client_cpu: f64,
    server_cpu: f64,
    /// Before the run.
    machine: Machine,
    /// Before and after it.
    received: (Counters, Counters),
    headers: Headers,
    /// None if the server ended with its client.
    server_memory: Option<u64>,
}

impl Seen {
    fn figures(&self, workload: &Workload, report: &Report, client: &Ended) -> Result<Figures> {
        let mut figures = usage(report, self.client_cpu, self.server_cpu);
        let (before, after) = self.received;
        if !matches!(workload.traffic, Traffic::Exchange(_)) {
            let payload = after.payload_since(before, self.headers) as f64;
            figures.push(Metric::Excess, (report.count / payload - 1.0) * 100.0);
        }
        let own = self.client_cpu + self.server_cpu;
        figures.push(Metric::Others, Machine::read()?.others_since(self.machine, own));
        figures.push(Metric::ClientMemory, client.peak_memory as f64);
        figures.push(Metric::ServerMemory, self.server_memory.map(|bytes| bytes as f64));
        figures.extend(report.figures.clone());
        Ok(figures)
    }
}

/// The rate, and the CPU seconds of both ends for each byte or exchange.
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
