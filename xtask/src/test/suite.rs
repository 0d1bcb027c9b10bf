//! Runs the programs with tests, several at a time. A test that fails beside the others is run once more,
//! alone: it fails the gate if it fails twice, and is listed if it does not, so that it is mended.

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
            let tests = run_one(program, &[], cpus * THREADS_A_CPU)?;
            if let Some(tests) = tests {
                failed.lock().expect("no worker panics").push((program, tests));
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..cpus).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
    })?;
    let failed = failed.into_inner().expect("no worker panics");
    for (program, tests) in &failed {
        say(format!("\n-- once more, alone: {} {}", program.name, tests.join(" ")));
        let again = run_one(program, tests, 1)?;
        ensure!(again.is_none(), "it failed twice: cargo test {}", program.name);
    }
    for (program, tests) in failed {
        say(format!("-- failed beside others, to be mended: {} {}", program.name, tests.join(" ")));
    }
    Ok(())
}

/// Runs all tests of a program, or some of them, and says what came of it when it has ended. Returns
/// the tests that failed; none that it names, if it did not come so far.
fn run_one(program: &TestProgram, tests: &[String], threads: usize) -> Result<Option<Vec<String>>> {
    let start = Instant::now();
    let (mut reader, writer) = io::pipe().context("cannot make a pipe")?;
    let mut command = Command::new(&program.file);
    command.current_dir(&program.folder).env("CARGO_MANIFEST_DIR", &program.folder);
    command.env("RUST_TEST_THREADS", threads.to_string());
    command.args((!tests.is_empty()).then_some("--exact")).args(tests);
    command.stdout(writer.try_clone()?).stderr(writer);
    let child = command.spawn();
    // The command holds the ends that write: without this the output would have no end.
    drop(command);
    let mut output = Vec::new();
    reader.read_to_end(&mut output)?;
    let status = child.with_context(|| format!("cannot run {}", program.name))?.wait()?;
    let output = String::from_utf8_lossy(&output);
    let result = output.lines().rfind(|line| line.starts_with("test result:")).unwrap_or_default();
    if !status.success() {
        say(&output);
    }
    let took = start.elapsed().as_secs_f64();
    say(format!("{} in {took:.1} s\n{result}", program.name));
    Ok((!status.success()).then(|| failures(&output)))
}

/// The names in lines such as `test path::name ... FAILED`.
fn failures(output: &str) -> Vec<String> {
    let name = |line: &str| {
        let name = line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?;
        (!name.contains(' ')).then(|| name.to_owned())
    };
    output.lines().filter_map(name).collect()
}

/// Tests of the binary: begun last, they would be alone at the end.
const LONGEST: &str = "--test scenarios";
/// Most tests of programs wait more than they compute.
const THREADS_A_CPU: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_failed_has_a_line_with_its_name() {
        let output =
            "test sends ... ok\ntest many::receive ... FAILED\n\ntest result: FAILED. 1 passed";
        assert_eq!(failures(output), ["many::receive"]);
    }
}
