//! One run: a server, its client, and the witnesses.

use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::contender::{Contender, Printed, Task, Told};
use super::figures::{Figures, Seen};
use super::machine::Machine;
use super::scene::Scene;
use crate::bench::measure;
use crate::bench::process::{Process, cpu_time_of_children};

/// Runs a program on a scene of its own.
pub(super) fn play(contender: &Contender, scene: &Scene, task: &Task) -> Result<Figures> {
    run(contender, scene, task).map(|(_, figures)| figures)
}

/// Runs a program for the engines that it finds.
pub(super) fn search(contender: &Contender, scene: &Scene, task: &Task) -> Result<String> {
    let (told, _) = run(contender, scene, task)?;
    told.engines.context("it does not tell its engines")
}

fn run(contender: &Contender, scene: &Scene, task: &Task) -> Result<(Told, Figures)> {
    // It may not listen yet.
    measure::patiently(|| {
        let server = Server::start(contender.server(scene.server(), task))
            .with_context(|| format!("cannot start the server of {}", contender.name))?;
        attempt(contender, server, scene, task)
    })
}

fn attempt(
    contender: &Contender,
    server: Server,
    scene: &Scene,
    task: &Task,
) -> Result<(Told, Figures)> {
    let direction = task.workload.direction;
    let (machine, received) = (Machine::look()?, scene.received(direction)?);
    let (client_before, server_before) = (cpu_time_of_children()?, server.process().cpu_time()?);
    let limit = GRACE + Duration::from_secs(task.seconds.into());
    let finished = measure::finish(contender.client(scene.client(), task), limit)?;
    let client_cpu = cpu_time_of_children()?.saturating_sub(client_before).as_secs_f64();
    // The server is still closing its sockets when the client has gone.
    thread::sleep(PAUSE);
    let server_cpu = server.process().cpu_time()?.saturating_sub(server_before).as_secs_f64();
    let seen = Seen {
        payload: scene.received(direction)?.payload_since(received, scene.headers(task)),
        client_cpu,
        server_cpu,
        others: Machine::look()?.others_since(machine, client_cpu + server_cpu),
        client_memory: finished.memory,
        server_memory: server.process().peak_memory(),
    };
    let printed = Printed { client: finished.printed, server: server.end() };
    let told =
        contender.read(task, &printed).map_err(|error| told_why(error, &finished.complaint))?;
    ensure!(told.bytes > 0, "nothing arrived");
    let figures = Figures::new(&told, &seen);
    Ok((told, figures))
}

/// An error with what the program complained of, if it did.
pub(in crate::bench) fn told_why(error: anyhow::Error, complaint: &str) -> anyhow::Error {
    match one_line(complaint) {
        complaint if complaint.is_empty() => error,
        complaint => error.context(complaint),
    }
}

/// What a program complains of, as the reason why it did not run.
fn one_line(complaint: &str) -> String {
    let lines = complaint.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("; ")
}

/// A server, which ends with this value.
pub(in crate::bench) struct Server(Child);

impl Server {
    /// Starts it and gives it the time to listen: a datagram that comes too early is lost.
    pub(in crate::bench) fn start(mut command: Command) -> Result<Self> {
        let server = Self(command.spawn()?);
        thread::sleep(SETTLE);
        Ok(server)
    }

    /// What the kernel knows of it.
    pub(in crate::bench) fn process(&self) -> Process {
        Process::new(self.0.id())
    }

    /// Ends it; what it printed, if that was wanted.
    fn end(mut self) -> String {
        // It may have ended by itself; there is nobody left to tell.
        _ = self.0.kill();
        measure::text_of(self.0.stdout.take())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; there is nobody left to tell.
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// What a server gets to listen.
const SETTLE: Duration = Duration::from_millis(50);
/// What a server gets to close thousands of sockets.
const PAUSE: Duration = Duration::from_millis(200);
/// How much longer than asked a run may take.
const GRACE: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn a_reason_is_one_line() {
        assert_eq!(one_line("linerate: no\n\n  tip: yes\n"), "linerate: no; tip: yes");
        let silent = told_why(anyhow!("it printed no JSON"), "\n");
        assert_eq!(silent.to_string(), "it printed no JSON");
        let told = told_why(anyhow!("it printed no JSON"), "linerate: no\n");
        assert_eq!(format!("{told:#}"), "linerate: no: it printed no JSON");
    }
}
