//! Meshes under a Slurm of this machine: faults named by `linerate mesh --slurm` in an allocation, a
//! clean fabric blamed for nothing, a node that fails, and a job that is put back in the queue.

mod cluster;

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use measurement::MeshRecord;
use testbed::process::Running;

use self::cluster::{Cluster, NODES};
use super::Outcome;
use crate::hosts::UnderTest;
use crate::output::transient;

/// Runs all cases, each so often as is asked for, or once in the short form.
pub(super) fn run(under_test: &UnderTest) -> Result<Vec<Outcome>> {
    let cluster = Cluster::start(&under_test.program)?;
    let (clean, times) = if under_test.short { (1, 1) } else { (5, 3) };
    let mut outcomes = vec![named(&cluster, "clean", None, clean, || Ok(None))?];
    outcomes.push(named(&cluster, "a link of 60 %", Some("host n3"), times, || {
        cluster::shape(3, 60)?;
        Ok(None)
    })?);
    outcomes.push(named(&cluster, "a busy CPU", Some("host n5"), times, || {
        cluster::keep_busy(5).map(Some)
    })?);
    outcomes.push(named(&cluster, "a port that two share", Some("shared n7, n8"), times, || {
        cluster::share(100)?;
        Ok(None)
    })?);
    outcomes.push(submitted(&cluster)?);
    outcomes.push(failed(&cluster)?);
    Ok(outcomes)
}

/// Meshes of a fabric with something planted name that and nothing else.
fn named(
    cluster: &Cluster,
    name: &str,
    expected: Option<&str>,
    times: u32,
    plant: impl Fn() -> Result<Option<Running>>,
) -> Result<Outcome> {
    let (mut right, mut seen) = (0, String::new());
    for number in 0..times {
        transient(format!("{name} {number} of {times}"));
        let planted = plant()?;
        let record = cluster.mesh("");
        drop(planted);
        cluster::restore()?;
        let record = record?;
        let culprits: Vec<_> = record.culprits.iter().map(shown).collect();
        let is_whole = record.lost.is_empty() && record.rates.len() == DIRECTIONS;
        right += u32::from(is_expected(&culprits, expected) && is_whole);
        seen = format!(
            "{} directions, {} rounds, named: {:?}, lost: {:?}",
            record.rates.len(),
            record.rounds,
            culprits,
            record.lost
        );
    }
    Ok(Outcome::show(name, format!("{right} of {times} right; {seen}"), right == times))
}

/// Whether what is expected is named, and nothing else; a host also as sender or receiver alone.
fn is_expected(culprits: &[String], expected: Option<&str>) -> bool {
    let name = |part: &str| part.split_once(' ').map(|(_, name)| name.to_owned());
    match (culprits, expected) {
        ([], None) => true,
        ([one], Some(expected)) => {
            one == expected || {
                let is_of_host = ["sender ", "receiver "].iter().any(|part| one.starts_with(part));
                is_of_host && expected.starts_with("host ") && name(one) == name(expected)
            }
        }
        _ => false,
    }
}

/// A culprit, e.g. `host n3`.
fn shown(culprit: &measurement::mesh::MeshCulprit) -> String {
    let part = serde_json::to_value(culprit.part).unwrap_or_default();
    let part = part.as_str().unwrap_or_default().to_owned();
    format!("{part} {}", culprit.name)
}

/// A batch job that is put back in the queue in the middle ends with all pairs, and none twice.
fn submitted(cluster: &Cluster) -> Result<Outcome> {
    transient("a job");
    let job = cluster.submit()?;
    let pairs = || fs::read_to_string(cluster.file(&format!("linerate-mesh-{job}.jsonl")));
    let count = || pairs().unwrap_or_default().matches("\"event\":\"pair\"").count();
    await_that("pairs of the job", || count() >= SOME)?;
    cluster.slurm("scontrol", &["requeue", &job])?;
    let result = cluster.file(&format!("linerate-mesh-{job}.out"));
    // What ran until it was requeued has printed a partial result.
    let record = || {
        let printed = fs::read_to_string(&result).unwrap_or_default();
        let mut records = printed.lines().filter_map(|line| serde_json::from_str(line).ok());
        records.find(|record: &MeshRecord| record.error.is_none())
    };
    await_that("the result of the job", || record().is_some())?;
    let record = record().context("the result of the job has gone")?;
    let twice = twice(&pairs()?);
    let seen = format!(
        "{} of {} results of before it was requeued, {} directions, {twice} pairs twice",
        record.stored,
        record.tests,
        record.rates.len()
    );
    let is_right = record.rates.len() == DIRECTIONS && record.stored >= SOME as u64 && twice == 0;
    Ok(Outcome::show("a job, requeued", seen, is_right))
}

/// Pairs of the survey with more than one valid result.
fn twice(lines: &str) -> usize {
    let events = lines.lines().filter_map(|line| serde_json::from_str(line).ok());
    let mut pairs: Vec<String> = events
        .filter(|event: &serde_json::Value| {
            let is_valid = |reading: &serde_json::Value| reading["stamp"] != "INVALID";
            let readings = event["readings"].as_array();
            event["stage"] == "survey"
                && readings.is_some_and(|all| all.len() == 2 && all.iter().all(is_valid))
        })
        .map(|event| format!("{} {}", event["a"], event["b"]))
        .collect();
    let all = pairs.len();
    pairs.sort();
    pairs.dedup();
    all - pairs.len()
}

/// The others go on without a node whose slurmd is killed; `--resume` tests the rest.
fn failed(cluster: &Cluster) -> Result<Outcome> {
    transient("a node that fails");
    let file = cluster.file("failed.jsonl");
    let option = format!("-o {}", file.display());
    let running = cluster.start_mesh(&option)?;
    let count =
        || fs::read_to_string(&file).unwrap_or_default().matches("\"event\":\"pair\"").count();
    await_that("pairs", || count() >= SOME)?;
    cluster.kill(8)?;
    let record = cluster::record(running)?;
    let before = (record.lost.join(" "), record.rates.len());
    cluster.revive(8)?;
    let resumed = cluster.mesh(&format!("{option} --resume"))?;
    let twice = twice(&fs::read_to_string(&file)?);
    let seen = format!(
        "lost: {}, {} directions; resumed: {} directions, {} of {} stored, {twice} pairs twice",
        before.0,
        before.1,
        resumed.rates.len(),
        resumed.stored,
        resumed.tests
    );
    let is_right = before.0 == "n8"
        && before.1 >= (NODES - 1) * (NODES - 2)
        && resumed.rates.len() == DIRECTIONS
        && twice == 0;
    Ok(Outcome::show("a node that fails", seen, is_right))
}

fn await_that(what: &str, is_so: impl Fn() -> bool) -> Result<()> {
    let since = Instant::now();
    while !is_so() {
        ensure!(since.elapsed() < PATIENCE, "{what} did not come within {PATIENCE:?}");
        thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// Directions of all pairs.
const DIRECTIONS: usize = NODES * (NODES - 1);
/// Pairs that are tested before something happens.
const SOME: usize = 6;
/// Slurm looks after a requeued job after two minutes at the latest.
const PATIENCE: Duration = Duration::from_secs(300);
