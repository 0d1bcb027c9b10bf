//! Five programs of tasks on mars and on other runtimes: in Rust (`peers/on_*.rs`), and in Go and C++
//! (the folder `peers` of this crate) where their compilers and libraries are installed. Each run is
//! a process of its own, and the runtimes take turns.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::{Row, Sink, median, nanos_each};

mod on_mars;
mod on_may;
mod on_tokio;

pub(crate) fn rows(sink: Sink) {
    let peers = Peer::all();
    for (program, ..) in PROGRAMS {
        let mut values = vec![Vec::new(); peers.len()];
        for _ in 0..TAKES {
            for (peer, values) in peers.iter().zip(&mut values) {
                values.extend(peer.measure(program));
            }
        }
        let mut medians = Vec::new();
        for (peer, values) in peers.iter().zip(values).filter(|(_, values)| !values.is_empty()) {
            medians.push(median(values));
            sink(Row::new(format!("{program}, {}", peer.name), medians[medians.len() - 1], "ns"));
        }
        if let [mars, others @ ..] = medians.as_slice() {
            let best = others.iter().copied().fold(f64::INFINITY, f64::min);
            sink(Row::new(format!("{program}, mars / the best other"), mars / best, "x"));
        }
    }
}

/// Runs a program on a runtime in Rust and prints the nanoseconds of each operation.
pub(crate) fn run(runtime: &str, program: &str) -> ExitCode {
    let runtime: Box<dyn Programs> = match runtime {
        "mars" => Box::new(on_mars::Mars::start()),
        "tokio" => Box::new(on_tokio::Tokio::start()),
        "may" => Box::new(on_may::May::start()),
        _ => return ExitCode::FAILURE,
    };
    let named = PROGRAMS.iter().find(|(name, ..)| *name == program);
    let Some((_, operations, call)) = named else { return ExitCode::FAILURE };
    println!("{:.1}", nanos_each(*operations, || call(&*runtime)));
    ExitCode::SUCCESS
}

/// The programs on one runtime.
struct Peer {
    name: &'static str,
    command: Vec<PathBuf>,
}

impl Peer {
    /// Mars first.
    fn all() -> Vec<Self> {
        let this = std::env::current_exe().expect("the path of this bench");
        let own = |name| Self { name, command: vec![this.clone(), "peer".into(), name.into()] };
        let foreign = FOREIGN.into_iter().filter_map(|(name, line)| Self::compile(name, line));
        ["mars", "tokio", "may"].map(own).into_iter().chain(foreign).collect()
    }

    fn compile(name: &'static str, line: &str) -> Option<Self> {
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).arg(&program);
        shell.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("peers"));
        if !shell.status().is_ok_and(|status| status.success()) {
            eprintln!("{name} is left out, since this failed: {line}");
            return None;
        }
        Some(Self { name, command: vec![program] })
    }

    /// Nanoseconds of each operation; `None` if it lacks the program or fails.
    fn measure(&self, program: &str) -> Option<f64> {
        let mut run = Command::new("timeout");
        let output = run.arg(MOST_SECONDS).args(&self.command).arg(program).output();
        String::from_utf8(output.ok()?.stdout).ok()?.trim().parse().ok()
    }
}

/// The programs of a runtime. Each checks what it computes.
trait Programs {
    fn skynet(&self);
    fn ping_pong(&self);
    fn contention(&self);
    fn fork_join(&self);
    fn pipeline(&self);
}

/// A program: its name, its operations, and how it is called.
type Program = (&'static str, u32, fn(&dyn Programs));

const PROGRAMS: [Program; 5] = [
    ("skynet", LEAVES, |on| on.skynet()),
    ("ping-pong", TRIPS, |on| on.ping_pong()),
    ("contention", CONTENDERS * TURNS, |on| on.contention()),
    ("fork-join", ROUNDS * FORKS, |on| on.fork_join()),
    ("pipeline", STAGES * ENTRIES, |on| on.pipeline()),
];
/// How often each runtime runs each program, and the time limit of a run.
const TAKES: u32 = 5;
const MOST_SECONDS: &str = "20";
/// What compiles the programs in other languages to the path in `$0`.
const FOREIGN: [(&str, &str); 3] = [
    ("Go", "GOCACHE=\"$0-cache\" go build -o \"$0\" main.go"),
    (
        "Boost.Fiber",
        "g++ -std=c++17 -O2 -pthread -o \"$0\" boost_fiber.cpp -lboost_fiber -lboost_context",
    ),
    ("oneTBB", "g++ -std=c++17 -O2 -pthread -o \"$0\" onetbb.cpp -ltbb"),
];

/// Threads that run tasks.
const WORKERS: usize = 2;
/// Leaves of the tree of skynet (github.com/atemerev/skynet), and children of each node.
const LEAVES: u32 = 1_000_000;
const CHILDREN: u64 = 10;
/// What the leaves add up to.
const SUM: u64 = LEAVES as u64 * (LEAVES as u64 - 1) / 2;
/// Round trips of ping-pong.
const TRIPS: u32 = 200_000;
/// Tasks that contend for one lock, and how often each takes it.
const CONTENDERS: u32 = 64;
const TURNS: u32 = 10_000;
/// Rounds of fork and join, and tasks in each.
const ROUNDS: u32 = 400;
const FORKS: u32 = 1_000;
/// Stages of a pipeline, entries that go through, and depth of each queue.
const STAGES: u32 = 8;
const ENTRIES: u32 = 50_000;
const DEPTH: usize = 64;
