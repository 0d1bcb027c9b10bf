//! What `linerate mesh` takes on the host that coordinates: real processes as its agents, which answer
//! at once what a test of a simulated host would have said.

use std::fs;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use measurement::MeshRecord;
use serde_json::{Value, json};
use testbed::process::Running;

use super::Outcome;
use crate::hosts::UnderTest;

/// Meshes of ten hosts and of many, one of which is slow.
pub(super) fn run(under_test: &UnderTest) -> Result<Vec<Outcome>> {
    let many = if under_test.short { 200 } else { 1_000 };
    let few = mesh(&under_test.program, 10)?;
    let taken = mesh(&under_test.program, many)?;
    let more = taken.memory.saturating_sub(few.memory) as f64 / 1024.0 / f64::from(many - 10);
    let each = taken.cpu.as_secs_f64() * 1e3 / taken.tests as f64;
    Ok(vec![
        few.named("10 hosts"),
        taken.named(&format!("{many} hosts")),
        Outcome::show(
            "memory",
            format!("{} KiB at the peak, {more:.1} KiB a further host", taken.memory / 1024),
            more <= MOST_KIB_A_HOST,
        ),
        Outcome::show(
            "CPU",
            format!(
                "{:.2} s for {} tests, {each:.2} ms each",
                taken.cpu.as_secs_f64(),
                taken.tests
            ),
            each <= MOST_MS_A_TEST,
        ),
        Outcome::show(
            "results",
            format!("{} of {} pairs in the file half way", taken.half_way, taken.pairs),
            taken.half_way * 3 >= taken.pairs,
        ),
    ])
}

/// What a mesh took and found.
struct Taken {
    /// Bytes of memory at the peak.
    memory: u64,
    cpu: Duration,
    tests: u64,
    /// Pairs in the file when half of the time was over, and at the end.
    half_way: usize,
    pairs: usize,
    culprits: Vec<String>,
}

impl Taken {
    fn named(&self, name: &str) -> Outcome {
        let is_right = self.culprits == [SLOW];
        Outcome::show(name, format!("named: {:?}", self.culprits), is_right)
    }
}

fn mesh(program: &Path, hosts: u32) -> Result<Taken> {
    let folder = std::env::temp_dir().join(format!("linerate-proof-mesh-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let taken = mesh_in(&folder, program, hosts);
    fs::remove_dir_all(&folder)?;
    taken
}

fn mesh_in(folder: &Path, program: &Path, hosts: u32) -> Result<Taken> {
    let (file, stored) = (folder.join("hosts"), folder.join("mesh.jsonl"));
    let lines = (1..=hosts).map(|number| format!("n{number} 192.0.2.1\n"));
    fs::write(&file, lines.collect::<String>())?;
    let agent = format!("{} proof mesh-agent {{host}}", std::env::current_exe()?.display());
    let mut command = Command::new(program);
    command.args(["mesh", "--json", "--quiet", "--via", &agent, "-t", "500ms"]);
    let running = Running::captured({
        command.arg("--hosts").arg(&file).arg("-o").arg(&stored);
        command
    })?;
    let (begun, mut sizes) = (Instant::now(), Vec::new());
    let (mut memory, mut cpu) = (0, Duration::ZERO);
    let mut running = running;
    while running.is_running() {
        ensure!(begun.elapsed() < PATIENCE, "the mesh did not end within {PATIENCE:?}");
        let usage = running.usage();
        memory = memory.max(usage.peak_memory().unwrap_or_default());
        cpu = cpu.max(usage.cpu_time().unwrap_or_default());
        sizes.push((begun.elapsed(), fs::metadata(&stored).map_or(0, |file| file.len())));
        thread::sleep(Duration::from_millis(20));
    }
    let took = begun.elapsed();
    let ended = running.finish(Duration::from_secs(10))?;
    let record: MeshRecord = serde_json::from_str(&ended.stdout)
        .with_context(|| format!("no record: {}", ended.complaint()))?;
    let text = fs::read_to_string(&stored)?;
    let half = { sizes }.into_iter().rfind(|(at, _)| *at * 2 <= took).map_or(0, |(_, size)| size);
    let half = usize::try_from(half)?.min(text.len());
    let pairs = |text: &str| text.matches("\"event\":\"pair\"").count();
    let culprits =
        record.culprits.iter().map(|culprit| format!("{} {}", culprit.part, culprit.name));
    Ok(Taken {
        memory,
        cpu,
        tests: record.tests,
        half_way: pairs(&text[..half]),
        pairs: pairs(&text),
        culprits: culprits.collect(),
    })
}

/// The agent of one simulated host: answers each order of its standard input at once.
pub(super) fn agent() -> Result<String> {
    let since = Instant::now();
    for line in io::stdin().lock().lines() {
        let order: Value = serde_json::from_str(&line?)?;
        let seconds = since.elapsed().as_secs_f64();
        if order.get("begin").is_some() {
            say(&json!({"ready": {"port": 1, "linerate": ""}}))?;
        } else if let Some(clock) = order.get("clock") {
            say(&json!({"clock": {"id": clock["id"], "seconds": seconds}}))?;
        } else if let Some(test) = order.get("test") {
            say(&json!({"began": {"id": test["id"], "seconds": seconds}}))?;
            let is_slow = ["name", "peer"].iter().any(|host| test[host] == "n7");
            let rate = if is_slow { 6_000_000_000_u64 } else { 10_000_000_000 };
            let reading =
                json!({"rate_bits_per_second": rate, "retransmitted_ratio": 0.0, "stamp": "VALID"});
            say(&json!({"tested": {"id": test["id"], "readings": [reading, reading]}}))?;
        }
    }
    Ok(String::new())
}

fn say(answer: &Value) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{answer}")?;
    Ok(out.flush()?)
}

const SLOW: &str = "host n7";
/// Memory of the coordinator for each host: a process with three pipes, and a thread that reads.
const MOST_KIB_A_HOST: f64 = 64.0;
const MOST_MS_A_TEST: f64 = 1.0;
const PATIENCE: Duration = Duration::from_secs(600);
