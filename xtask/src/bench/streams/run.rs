//! One run: a server, its client, and the witnesses.

use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};

use super::contender::{Contender, Task};
use super::figures::{Figures, Seen};
use super::machine::Machine;
use super::scene::Scene;
use crate::bench::measure;
use crate::bench::process::{Process, cpu_time_of_children};

/// Runs a program on a scene of its own.
pub(super) fn play(contender: &Contender, scene: &Scene, task: &Task) -> Result<Figures> {
    let server = Server::start(contender.server(scene.server(), task))
        .with_context(|| format!("cannot start the server of {}", contender.name))?;
    // It may not listen yet.
    measure::patiently(|| attempt(contender, &server, scene, task))
}

fn attempt(contender: &Contender, server: &Server, scene: &Scene, task: &Task) -> Result<Figures> {
    let (machine, received) = (Machine::look()?, scene.received()?);
    let (client_before, server_before) = (cpu_time_of_children()?, server.process().cpu_time()?);
    let limit = GRACE + Duration::from_secs(task.seconds.into());
    let finished = measure::finish(contender.client(scene.client(), task), limit)?;
    let client_cpu = cpu_time_of_children()?.saturating_sub(client_before);
    // The server is still closing its sockets when the client has gone.
    thread::sleep(PAUSE);
    let printed = serde_json::from_str(&finished.printed)
        .map_err(|_| anyhow!("{}", one_line(&finished.complaint)))?;
    let told = contender.read(&printed)?;
    let server_cpu = server.process().cpu_time()?.saturating_sub(server_before);
    let cpu = (client_cpu + server_cpu).as_secs_f64();
    let seen = Seen {
        payload: scene.received()?.payload_since(received, scene.headers(task)),
        cpu,
        others: Machine::look()?.others_since(machine, cpu),
        client_memory: finished.memory,
        server_memory: server.process().peak_memory().context("its server has ended")?,
    };
    Ok(Figures::new(&told, &seen))
}

/// What a program complains of, as the reason why it did not run.
fn one_line(complaint: &str) -> String {
    let lines: Vec<&str> =
        complaint.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if lines.is_empty() { "it printed no JSON and no reason".to_owned() } else { lines.join("; ") }
}

/// A server, which ends with this value.
struct Server(Child);

impl Server {
    fn start(mut command: Command) -> Result<Self> {
        Ok(Self(command.spawn()?))
    }

    fn process(&self) -> Process {
        Process::new(self.0.id())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; there is nobody left to tell.
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// What a server gets to close thousands of sockets.
const PAUSE: Duration = Duration::from_millis(200);
/// How much longer than asked a run may take.
const GRACE: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_one_line() {
        assert_eq!(one_line("linerate: no\n\n  tip: yes\n"), "linerate: no; tip: yes");
        assert_eq!(one_line("\n"), "it printed no JSON and no reason");
    }
}
