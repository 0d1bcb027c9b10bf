//! Runs the programs with tests and the conformance stages, several at a time. What fails is not
//! repeated.

use std::io::Read;
use std::num::NonZero;
use std::process::Command;
use std::sync::Mutex;
use std::time::Instant;
use std::{io, thread};

use anyhow::{Context, Result, ensure};

use super::built::TestProgram;
use crate::output::say;

/// A command that passes or fails.
pub(super) struct Job {
    pub(super) name: String,
    pub(super) command: Command,
}

impl Job {
    /// All tests of a program.
    pub(super) fn tests(program: &TestProgram) -> Self {
        let mut command = Command::new(&program.file);
        command.current_dir(&program.folder).env("CARGO_MANIFEST_DIR", &program.folder);
        command.env("RUST_TEST_THREADS", (cpus() * THREADS_A_CPU).to_string());
        Self { name: program.name.clone(), command }
    }
}

/// Runs all of them, to the end, and shows what those print that fail.
pub(super) fn run(mut waiting: Vec<Job>) -> Result<()> {
    // The last one is taken first.
    waiting.sort_by_key(|job| LONGEST.iter().position(|name| job.name.ends_with(name)));
    let (waiting, failed) = (Mutex::new(waiting), Mutex::new(Vec::new()));
    let work = || -> Result<()> {
        let next = || waiting.lock().expect("no worker panics").pop();
        while let Some(job) = next() {
            let name = job.name.clone();
            if !run_one(job)? {
                failed.lock().expect("no worker panics").push(name);
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..cpus()).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
    })?;
    let failed = failed.into_inner().expect("no worker panics");
    ensure!(failed.is_empty(), "a test failed in: {}", failed.join(", "));
    Ok(())
}

/// Runs a job, and says what came of it when it has ended; whether it passed.
fn run_one(job: Job) -> Result<bool> {
    let Job { name, mut command } = job;
    let start = Instant::now();
    let (mut reader, writer) = io::pipe().context("cannot make a pipe")?;
    command.stdout(writer.try_clone()?).stderr(writer);
    let child = command.spawn();
    // The command holds the ends that write: without this the output would have no end.
    drop(command);
    let mut output = Vec::new();
    reader.read_to_end(&mut output)?;
    let status = child.with_context(|| format!("cannot run {name}"))?.wait()?;
    let output = String::from_utf8_lossy(&output);
    let result = output.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    if !status.success() {
        say(&output);
    }
    let took = start.elapsed().as_secs_f64();
    say(format!("{name} in {took:.1} s: {}", result.trim()));
    Ok(status.success())
}

fn cpus() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Begun last, they would be alone at the end; the longest comes last.
const LONGEST: [&str; 3] = ["conformance golden", "conformance matrix", "--test scenarios"];
/// Most tests of programs wait more than they compute.
const THREADS_A_CPU: usize = 4;
