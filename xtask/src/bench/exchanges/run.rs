//! One run: a server, its client, and their CPU time.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::contender::{Contender, Task};
use super::figures::Figures;
use crate::bench::measure;
use crate::bench::process::cpu_time_of_children;
use crate::bench::streams::{Scene, Server, told_why};

/// Runs a program on a scene of its own.
pub(super) fn play(contender: &Contender, scene: &Scene, task: &Task) -> Result<Figures> {
    // It may not listen yet.
    measure::patiently(|| {
        let server = Server::start(contender.server(scene.server(), task))
            .with_context(|| format!("cannot start the server of {}", contender.name))?;
        attempt(contender, &server, scene, task)
    })
}

fn attempt(contender: &Contender, server: &Server, scene: &Scene, task: &Task) -> Result<Figures> {
    let (client_before, server_before) = (cpu_time_of_children()?, server.process().cpu_time()?);
    let limit = GRACE + Duration::from_secs(task.seconds.into());
    let finished = measure::finish(contender.client(scene.client(), task), limit)?;
    let client_cpu = cpu_time_of_children()?.saturating_sub(client_before).as_secs_f64();
    thread::sleep(PAUSE);
    let server_cpu = server.process().cpu_time()?.saturating_sub(server_before).as_secs_f64();
    let told = contender.read(task, &finished.printed);
    let told = told.map_err(|error| told_why(error, &finished.complaint))?;
    ensure!(told.count > 0.0, "not one exchange");
    Ok(Figures { told, client_cpu, server_cpu })
}

/// What a server gets to finish.
const PAUSE: Duration = Duration::from_millis(100);
/// How much longer than asked a run may take.
const GRACE: Duration = Duration::from_secs(30);
