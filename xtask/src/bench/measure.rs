//! One run of a client, measured from outside.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};

use super::dialect::{Delivered, Task};
use super::process::{Process, cpu_time_of_children};
use super::program::Program;
use crate::command;

/// What a run gave and what it took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    /// What arrived.
    pub(super) delivered: Delivered,
    /// CPU time of the client.
    pub(super) client_cpu: Duration,
    /// CPU time of the server.
    pub(super) server_cpu: Duration,
    /// Peak memory of the client in bytes.
    pub(super) client_memory: u64,
    /// Peak memory of the server in bytes.
    pub(super) server_memory: u64,
}

/// Runs a client whose output is JSON.
pub(super) fn run(program: &Program, task: Task) -> Result<Measured> {
    patiently(|| attempt(program, task)).with_context(|| format!("{} failed", program.name))
}

/// Runs a client for the time from its start to its end alone.
pub(super) fn wall_time(program: &Program, task: Task) -> Result<Duration> {
    let attempt = || {
        let mut client = program.client(task);
        let start = Instant::now();
        let output = client.output()?;
        let wall = start.elapsed();
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(command::has_measured(output.status), "{}", complaint.trim());
        Ok(wall)
    };
    patiently(attempt).with_context(|| format!("{} failed", program.name))
}

fn attempt(program: &Program, task: Task) -> Result<Measured> {
    let server = program.server();
    server.reset_peak();
    let (client_before, server_before) = (cpu_time_of_children()?, server.cpu_time()?);
    let finished = finish(program.client(task), limit(task))?;
    let client_after = cpu_time_of_children()?;
    // The server is still closing its sockets when the client has gone.
    thread::sleep(PAUSE);
    let printed = serde_json::from_str(&finished.printed)
        .map_err(|_| anyhow!("{}", finished.complaint.trim().to_owned()))?;
    Ok(Measured {
        delivered: program.dialect.read(&printed)?,
        client_cpu: client_after.saturating_sub(client_before),
        server_cpu: server.cpu_time()?.saturating_sub(server_before),
        client_memory: finished.memory,
        server_memory: server.peak_memory().context("its server has ended")?,
    })
}

/// What a client leaves.
#[derive(Debug)]
pub(super) struct Finished {
    /// Its standard output.
    pub(super) printed: String,
    /// Its standard error.
    pub(super) complaint: String,
    /// Its peak memory in bytes.
    pub(super) memory: u64,
}

/// Starts a client, reads what it prints, and watches its memory until it ends.
pub(super) fn finish(mut client: Command, limit: Duration) -> Result<Finished> {
    let mut client = client.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (printed, complaint) = (client.stdout.take(), client.stderr.take());
    thread::scope(|scope| {
        let printed = scope.spawn(|| text_of(printed));
        let complaint = scope.spawn(|| text_of(complaint));
        let memory = watch(&mut client, limit)?;
        let text = |reader: thread::ScopedJoinHandle<String>| reader.join().unwrap_or_default();
        Ok(Finished { printed: text(printed), complaint: text(complaint), memory })
    })
}

/// All that comes from a pipe, if there is one.
pub(super) fn text_of(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    // What came until it broke is all there is.
    _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Waits for the end; the highest peak of memory seen on the way.
fn watch(client: &mut Child, limit: Duration) -> Result<u64> {
    let (process, start) = (Process::new(client.id()), Instant::now());
    let mut memory = 0;
    while client.try_wait()?.is_none() {
        memory = memory.max(process.peak_memory().unwrap_or(0));
        if start.elapsed() > limit {
            client.kill()?;
            client.wait()?;
            bail!("no end after {} s", limit.as_secs());
        }
        thread::sleep(GLANCE);
    }
    Ok(memory)
}

fn limit(task: Task) -> Duration {
    match task {
        Task::Row { seconds, .. } => GRACE + Duration::from_secs(seconds.into()),
        Task::Trial { .. } | Task::Mebibyte => GRACE,
    }
}

/// Tries again while nobody listens: iperf3 closes its port between two tests.
pub(super) fn patiently<T>(mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
    let start = Instant::now();
    loop {
        match attempt() {
            Err(error) if may_pass(&error) && start.elapsed() < PATIENCE => thread::sleep(GLANCE),
            other => return other,
        }
    }
}

fn may_pass(error: &anyhow::Error) -> bool {
    let text = format!("{error:#}").to_lowercase();
    text.contains("connection refused") || text.contains("busy")
}

/// How long a refused connect is tried again.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often a client is looked at.
const GLANCE: Duration = Duration::from_millis(10);
/// What a server gets to finish a test.
const PAUSE: Duration = Duration::from_millis(50);
/// How much longer than asked a test may take.
const GRACE: Duration = Duration::from_secs(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_connect_is_tried_again() {
        let mut left = 2;
        let result = patiently(|| {
            left -= 1;
            ensure!(left == 0, "cannot connect: Connection refused");
            Ok(left)
        });
        assert_eq!(result.expect("the second attempt"), 0);
    }

    #[test]
    fn another_error_is_final() {
        let mut attempts = 0;
        let result: Result<()> = patiently(|| {
            attempts += 1;
            bail!("no such option")
        });
        assert!(result.is_err() && attempts == 1);
    }
}
