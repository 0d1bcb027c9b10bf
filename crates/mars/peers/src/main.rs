//! Five programs of tasks on one of three runtimes: `linerate-mars-peers RUNTIME PROGRAM` prints the
//! nanoseconds of each operation. `cargo xtask bench runtimes` runs it in turns with the same programs
//! in Go, Boost.Fiber and oneTBB, which stand beside this file.

use std::process::ExitCode;
use std::time::Instant;

mod on_mars;
mod on_may;
mod on_tokio;

/// Threads that run tasks.
const WORKERS: usize = 2;
/// Leaves of the tree of skynet (github.com/atemerev/skynet), and children of each node.
const LEAVES: u64 = 1_000_000;
const CHILDREN: u64 = 10;
/// What the leaves add up to.
const SUM: u64 = LEAVES * (LEAVES - 1) / 2;
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

/// The programs of a runtime. Each checks what it computes.
trait Programs {
    fn skynet(&self);
    fn ping_pong(&self);
    fn contention(&self);
    fn fork_join(&self);
    fn pipeline(&self);
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [runtime, program] = words.as_slice() else { return usage() };
    let programs: Box<dyn Programs> = match runtime.as_str() {
        "mars" => Box::new(on_mars::Mars::start()),
        "tokio" => Box::new(on_tokio::Tokio::start()),
        "may" => Box::new(on_may::May::start()),
        _ => return usage(),
    };
    let start = Instant::now();
    let operations = match program.as_str() {
        "skynet" => {
            programs.skynet();
            LEAVES
        }
        "ping-pong" => {
            programs.ping_pong();
            TRIPS.into()
        }
        "contention" => {
            programs.contention();
            (CONTENDERS * TURNS).into()
        }
        "fork-join" => {
            programs.fork_join();
            (ROUNDS * FORKS).into()
        }
        "pipeline" => {
            programs.pipeline();
            (STAGES * ENTRIES).into()
        }
        _ => return usage(),
    };
    println!("{:.1}", start.elapsed().as_secs_f64() * 1e9 / operations as f64);
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!("usage: mars|tokio|may skynet|ping-pong|contention|fork-join|pipeline");
    ExitCode::from(2)
}
