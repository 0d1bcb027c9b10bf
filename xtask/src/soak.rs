//! `soak`: a server under good, slow and hostile clients for a long time. What it holds between the
//! rounds must not grow: threads, descriptors, memory.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Args;
use testbed::port;
use testbed::process::{self, Running};
use testbed::usage::Usage;

use crate::hosts;
use crate::output::say;
use crate::packages;
use crate::workspace::{Build, Workspace};

mod clients;
mod crowd;
mod hostile;

use clients::Kind;

/// Runs a server under good, slow and hostile clients; what it holds must not grow
#[derive(Debug, Args)]
pub(crate) struct Soak {
    /// How long
    #[arg(long, default_value_t = 20, value_name = "MINUTES")]
    minutes: u64,
    /// Half a minute
    #[arg(long, conflicts_with = "minutes")]
    short: bool,
    /// The linerate to run [default: a release build]
    #[arg(long, value_name = "FILE")]
    linerate: Option<PathBuf>,
}

impl Soak {
    pub(crate) fn run(self) -> Result<String> {
        let program = match self.linerate {
            Some(file) => file,
            None => Workspace::find()?.build(Build::Release)?,
        };
        packages::provide(&packages::TESTS)?;
        let (time, round) = if self.short { SHORT } else { (60 * self.minutes, ROUND) };
        say(crowd::crowd(&program, if self.short { FEW } else { MANY })?);
        soak(&program, Duration::from_secs(time), Duration::from_secs(round))
    }
}

/// The short form, with the build that tests have.
pub(crate) fn short(workspace: &Workspace) -> Result<()> {
    let (time, round) = SHORT;
    let program = workspace.build(Build::Checked)?;
    say(crowd::crowd(&program, FEW)?);
    say(soak(&program, Duration::from_secs(time), Duration::from_secs(round))?);
    Ok(())
}

/// What a server holds when it has no client.
#[derive(Clone, Copy, Debug)]
struct Held {
    threads: u64,
    descriptors: u64,
    memory: u64,
}

/// What the good clients of a round saw.
#[derive(Debug, Default)]
struct Good {
    tests: u32,
    failed: Vec<String>,
    longest: Duration,
}

fn soak(program: &Path, time: Duration, round: Duration) -> Result<String> {
    let port = port::free()?;
    let mut serve = linerate(program, &format!("serve --quiet --bind 127.0.0.1 --port {port}"));
    serve.args(["--max-time", "20s", "--max-total-rate", "4G"]);
    let mut server = Running::silent(serve)?;
    port::await_listener(None, port, &mut server)?;
    let idle = held(server.usage())?;
    say(format!("idle: {}", describe(idle)));
    let start = Instant::now();
    let (mut rounds, mut tests, mut longest) = (Vec::new(), 0, Duration::ZERO);
    while rounds.len() < LEAST_ROUNDS || start.elapsed() + round <= time {
        let good = under_load(program, port, round);
        ensure!(server.is_running(), "the server has ended: {}", server.stderr());
        let failed = good.failed.len();
        ensure!(failed == 0, "{failed} good clients failed, the first: {}", good.failed[0]);
        ensure!(good.tests > 0, "no good client was served in a round");
        let now = rest(server.usage(), idle)?;
        tests += good.tests;
        longest = longest.max(good.longest);
        let at = start.elapsed().as_secs();
        let (count, took) = (good.tests, good.longest.as_secs_f64());
        say(format!("{at} s: {}; {count} good tests, at most {took:.2} s", describe(now)));
        rounds.push((start.elapsed(), now));
    }
    server.stop()?;
    judge(idle, &rounds, tests, longest)
}

/// Threads and descriptors are those of before; memory is that of the first rounds.
fn judge(idle: Held, rounds: &[(Duration, Held)], tests: u32, longest: Duration) -> Result<String> {
    let settled = Duration::from_secs(120);
    let early = rounds.iter().find(|(at, _)| *at >= settled).or_else(|| rounds.get(1));
    let (first, last) = (early.context("no round")?, rounds.last().context("no round")?);
    let growth = last.1.memory.saturating_sub(first.1.memory);
    ensure!(growth <= MOST_GROWTH, "memory grew by {growth} bytes since {:?}", first.0);
    Ok(format!(
        "soak: {tests} good tests in {} rounds, at most {:.2} s each; idle {}; at {} s {}; at {} s {}",
        rounds.len(),
        longest.as_secs_f64(),
        describe(idle),
        first.0.as_secs(),
        describe(first.1),
        last.0.as_secs(),
        describe(last.1)
    ))
}

/// A round: good clients one after another from four addresses, slow ones that are killed, and
/// hostile ones.
fn under_load(program: &Path, port: u16, round: Duration) -> Good {
    let (stop, good) = (AtomicBool::new(false), Mutex::new(Good::default()));
    thread::scope(|scope| {
        for (kind, from, rows) in GOOD {
            let (stop, good) = (&stop, &good);
            scope.spawn(move || {
                for row in rows.iter().cycle().take_while(|_| !stop.load(Relaxed)) {
                    test(kind, kind.command(program, (from, port), row), row, good);
                }
            });
        }
        scope.spawn(|| slow(program, port, &stop));
        scope.spawn(|| hostile::harass(port, &stop));
        thread::sleep(round);
        stop.store(true, Relaxed);
    });
    good.into_inner().unwrap_or_default()
}

fn test(kind: Kind, client: Command, options: &str, good: &Mutex<Good>) {
    let start = Instant::now();
    let ended = process::finish(client, PATIENCE);
    let took = start.elapsed();
    let Ok(mut good) = good.lock() else { return };
    match ended {
        Ok(ended) if kind.is_served(&ended) => {
            good.tests += 1;
            good.longest = good.longest.max(took);
        }
        Ok(ended) => good.failed.push(format!("{kind:?} {options}: {}", ended.complaint())),
        Err(error) => good.failed.push(format!("{kind:?} {options}: {error:#}")),
    }
}

/// Clients that trickle, each killed after a second.
fn slow(program: &Path, port: u16, stop: &AtomicBool) {
    let words = format!("test 127.0.0.1 --port {port} --no-evidence --no-store --quiet -t 15s");
    while !stop.load(Relaxed) {
        let rows = ["--tcp --send -b 20K -l 1K", "--udp --receive -b 20K -l 100"];
        let clients = rows.map(|row| Running::silent(linerate(program, &format!("{words} {row}"))));
        thread::sleep(Duration::from_secs(1));
        // One that could not be started, or has ended, needs no kill.
        clients.into_iter().flatten().for_each(|client| _ = client.signal("KILL"));
    }
}

/// Waits until the server holds no more threads and descriptors than it did idle.
fn rest(server: Usage, idle: Held) -> Result<Held> {
    let start = Instant::now();
    loop {
        let now = held(server)?;
        if now.threads <= idle.threads && now.descriptors <= idle.descriptors {
            // It gives memory back after a second without tests.
            thread::sleep(Duration::from_millis(1_500));
            return held(server);
        }
        ensure!(start.elapsed() < PATIENCE, "still held: {}", describe(now));
        thread::sleep(Duration::from_millis(100));
    }
}

fn held(server: Usage) -> Result<Held> {
    let read = || {
        let descriptors = server.descriptors()? as u64;
        Some(Held { threads: server.threads()?, descriptors, memory: server.resident_memory()? })
    };
    read().context("the server is gone")
}

fn describe(held: Held) -> String {
    let megabytes = held.memory as f64 / 1e6;
    format!("{} threads, {} descriptors, {megabytes:.1} MB", held.threads, held.descriptors)
}

fn linerate(program: &Path, words: &str) -> Command {
    let mut command = Command::new(program);
    hosts::clean(&mut command);
    command.args(words.split_whitespace());
    command
}

/// Whole time and time of a round, in seconds.
const SHORT: (u64, u64) = (24, 5);
const ROUND: u64 = 20;
const LEAST_ROUNDS: usize = 3;
/// Addresses of good clients, and what they test.
const GOOD: [(Kind, &str, &[&str]); 4] = [
    (
        Kind::Own,
        "127.0.0.2",
        &["--tcp --send -t 200ms", "--tcp --receive -t 200ms -P 4", "--tcp --bidir -t 200ms"],
    ),
    (Kind::Own, "127.0.0.3", &["--udp --send -b 20M -t 200ms", "--udp --receive -b 20M -t 200ms"]),
    // A server with a rate for all serves no iperf2 by UDP, whose rate it cannot tell.
    (
        Kind::Iperf2,
        "127.0.0.4",
        &[
            "-t 0.2 -b 50M",
            "-t 0.2 -R -b 50M",
            "-t 1 -P 3 --full-duplex -b 10M",
            "--bounceback -t 1",
        ],
    ),
    (Kind::Iperf3, "127.0.0.5", &["-t 1 -b 50M", "-t 1 -R -P 2 -b 25M", "-u -b 20M -t 1"]),
];
/// Clients of each kind at the same time.
const FEW: usize = 20;
const MANY: usize = 60;
const PATIENCE: Duration = Duration::from_secs(40);
/// Memory that the allocator may keep in pieces, in bytes.
const MOST_GROWTH: u64 = 4_000_000;
