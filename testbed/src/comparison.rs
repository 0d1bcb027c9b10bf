//! Programs side by side on hosts of their own, workload by workload.
//!
//! Every run has a topology that has had no other, so that nothing else passes its interface and
//! no connection of an earlier run lingers there. The interface's counters are the check on what a
//! program says that it moved.

use std::fmt;

use anyhow::{Context, Result};

use crate::candidate::{Candidate, FASTEST};
use crate::congestion;
use crate::figures::Figures;
use crate::progress::Progress;
use crate::rounds::{Benchmark, Entry, JobRow};
use crate::run;
use crate::topology::{Path, Topology};
use crate::workload::{End, Test, Workload};

/// A comparison of programs: the candidates, and how often and how long each runs.
pub struct Comparison {
    /// Runs of each program in each row.
    pub rounds: u32,
    /// Seconds of each run.
    pub seconds: u32,
    /// Congestion control of all.
    pub congestion: Option<String>,
    /// The programs, in the order in which they take turns.
    pub candidates: Vec<Candidate>,
    /// Runs a program once, on hosts that have had no other.
    pub run: Run,
    /// Counts the runs.
    pub progress: fn(usize) -> Result<Progress>,
    /// Shows a row when it is complete.
    pub show: fn(&JobRow<Job>),
}

/// A function that runs a program once and returns its figures. The outer error ends the
/// comparison, the inner one is the program's.
pub type Run = fn(&Candidate, &Topology, &Test) -> Result<Result<Figures>>;

/// Runs a program once and returns its figures, including CPU time and memory as the kernel counts
/// them. It is the [`Run`] of most comparisons.
///
/// # Errors
/// The outer result is always `Ok`; the inner error is the program's.
pub fn seen(candidate: &Candidate, topology: &Topology, test: &Test) -> Result<Result<Figures>> {
    Ok(run::run(candidate, topology, test).map(|(_, figures)| figures))
}

/// A workload and the network path that it takes: one row of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// What is sent.
    pub workload: Workload,
    /// From client to server.
    pub path: Path,
}

impl Job {
    /// A job for each combination of a workload and a path.
    pub fn each(workloads: impl IntoIterator<Item = Workload>, paths: &[Path]) -> Vec<Self> {
        let over = |workload| paths.iter().map(move |&path| Self { workload, path });
        workloads.into_iter().flat_map(over).collect()
    }
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} over {}", self.workload, self.path)
    }
}

/// The name of a congestion control algorithm that all `candidates` accept, found by short runs.
/// Candidates with flags of their own are not asked.
///
/// # Errors
/// The kernel has no algorithm that all of them accept.
pub fn congestion(candidates: &[Candidate]) -> Result<String> {
    let workload = Workload::tcp(1);
    let plain = |one: &&Candidate| one.flags.is_empty() && one.takes(&workload);
    congestion::first_taken(|name| {
        candidates.iter().filter(plain).try_for_each(|candidate| {
            let topology = Topology::create(Path::Loopback)?;
            let test = Test::new(topology.address(), workload, End::Seconds(1));
            let test = Test { congestion: Some(name.to_owned()), ..test };
            run::run(candidate, &topology, &test).map(drop)
        })
    })
}

impl Comparison {
    /// Hosts whose connections have the congestion control of all.
    fn topology(&self, path: Path) -> Result<Topology> {
        let topology = Topology::create(path)?;
        if let Some(name) = &self.congestion {
            topology.set_congestion(name)?;
        }
        Ok(topology)
    }

    fn test(&self, topology: &Topology, job: &Job, seconds: u32) -> Test {
        let test = Test::new(topology.address(), job.workload, End::Seconds(seconds));
        Test { congestion: self.congestion.clone(), ..test }
    }

    /// The engines that a search finds.
    fn search(&self, candidate: &Candidate, topology: &Topology, job: &Job) -> Result<String> {
        let (report, _) = run::run(candidate, topology, &self.test(topology, job, 1))?;
        report.engines.context("it does not report its engines")
    }
}

impl Benchmark for Comparison {
    type Job = Job;

    fn rounds(&self, _job: &Job) -> u32 {
        self.rounds
    }

    fn candidates(&self, job: &Job) -> Vec<Candidate> {
        self.candidates.iter().filter(|one| one.takes(&job.workload)).cloned().collect()
    }

    /// Lets a program search for its engines, once for all rounds.
    fn prepare(
        &self,
        candidate: &mut Candidate,
        job: &Job,
        entry: &mut Entry,
        progress: &Progress,
    ) -> Result<()> {
        if candidate.flags != FASTEST {
            return Ok(());
        }
        progress.note(format!("{job}: {} searches", candidate.name));
        match self.search(candidate, &self.topology(job.path)?, job) {
            Ok(engines) => {
                candidate.flags = format!("--engine {engines}");
                entry.engines = Some(engines);
            }
            Err(error) => entry.outcome = Err(format!("{error:#}")),
        }
        Ok(())
    }

    fn run(&self, candidate: &Candidate, job: &Job) -> Result<Result<Figures>> {
        let topology = self.topology(job.path)?;
        (self.run)(candidate, &topology, &self.test(&topology, job, self.seconds))
    }

    fn progress(&self, runs: usize) -> Result<Progress> {
        (self.progress)(runs)
    }

    fn show(&self, row: &JobRow<Job>) {
        (self.show)(row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_named_by_workload_and_path() {
        let workloads = [Workload::tcp(1), Workload::datagrams(64)];
        let jobs = Job::each(workloads, &[Path::Loopback, Path::Veth]);
        let names: Vec<_> = jobs.iter().map(ToString::to_string).collect();
        assert_eq!(names[0], "TCP send, 1 stream over lo");
        assert_eq!((names.len(), names[3].as_str()), (4, "UDP 64 B send, 1 stream over veth"));
    }
}
