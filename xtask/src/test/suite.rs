//! Runs the programs with tests, several at a time. A test that fails is not repeated: what needs a quiet
//! machine is no test, but a bench or a proof.

use std::io::Read;
use std::num::NonZero;
use std::process::Command;
use std::sync::Mutex;
use std::time::Instant;
use std::{io, thread};

use anyhow::{Context, Result, ensure};

use super::built::TestProgram;
use crate::output::say;

/// Runs all of them, to the end, and shows what those print that fail.
pub(super) fn run(programs: &[TestProgram]) -> Result<()> {
    let mut waiting: Vec<_> = programs.iter().collect();
    // The last one is taken first.
    waiting.sort_by_key(|program| program.name.ends_with(LONGEST));
    let (waiting, failed) = (Mutex::new(waiting), Mutex::new(Vec::new()));
    let cpus = thread::available_parallelism().map_or(1, NonZero::get);
    let work = || -> Result<()> {
        let next = || waiting.lock().expect("no worker panics").pop();
        while let Some(program) = next() {
            if !succeeds(program, cpus * THREADS_A_CPU)? {
                failed.lock().expect("no worker panics").push(program.name.as_str());
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..cpus).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
    })?;
    let failed = failed.into_inner().expect("no worker panics");
    let (count, all) = (failed.len(), programs.len());
    ensure!(count == 0, "{count} of {all} programs failed: {}", failed.join(", "));
    Ok(())
}

/// Runs one, and says what came of it when it has ended.
fn succeeds(program: &TestProgram, threads: usize) -> Result<bool> {
    let start = Instant::now();
    let (mut reader, writer) = io::pipe().context("cannot make a pipe")?;
    let mut command = Command::new(&program.file);
    command.current_dir(&program.folder).env("CARGO_MANIFEST_DIR", &program.folder);
    command.env("RUST_TEST_THREADS", threads.to_string());
    command.stdout(writer.try_clone()?).stderr(writer);
    let child = command.spawn();
    // The command holds the ends that write: without this the output would have no end.
    drop(command);
    let mut output = Vec::new();
    reader.read_to_end(&mut output)?;
    let is_success =
        child.with_context(|| format!("cannot run {}", program.name))?.wait()?.success();
    let output = String::from_utf8_lossy(&output);
    let result = output.lines().rfind(|line| line.starts_with("test result:"));
    if !is_success {
        say(&output);
    }
    say(format!(
        "{} in {:.1} s\n{}",
        program.name,
        start.elapsed().as_secs_f64(),
        result.unwrap_or("")
    ));
    Ok(is_success)
}

/// Tests of the binary: begun last, they would be alone at the end.
const LONGEST: &str = "--test scenarios";
/// Most tests of programs wait more than they compute.
const THREADS_A_CPU: usize = 2;
