//! `proof`: what linerate says of a test, held against causes that were planted.
//!
//! Each case has hosts of its own (crate `lab`), on which one thing is wrong and witnesses of
//! the kernel, or of iptables, tell how much.

mod ab;
mod attribution;
mod comparison;
mod copy;
mod cost;
mod dut;
mod mars;
mod mesh;
mod mesh_coordinator;
mod mesh_slurm;
mod planted;
mod races;
mod screens;
mod store;
mod tune;
mod tuning;

use std::env;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::{Args, Subcommand};
use measurement::TestRecord;

use crate::command;
use crate::faults::machine::Machines;
use crate::faults::run::Runner;
use crate::hosts::{self, UnderTest};
use crate::output::say;
use crate::workspace::{Build, Workspace};

/// Plants causes and looks whether linerate names them
#[derive(Debug, Args)]
pub(crate) struct Proof {
    #[command(subcommand)]
    what: What,
    /// Program to put to the proof [default: built from this tree]
    #[arg(long, global = true, value_name = "FILE")]
    linerate: Option<PathBuf>,
    /// Fewer and shorter runs
    #[arg(long, global = true)]
    short: bool,
}

#[derive(Clone, Debug, Subcommand)]
enum What {
    /// Every lost datagram is placed: in sockets, in queues, on the path, in two places
    Ledger(Cases),
    /// Where CPU time went has a name for every way that data go, and to look costs little
    Attribution,
    /// A/B tests find a difference where there is one, and only there
    Ab,
    /// Comparisons of the same show no difference
    Comparison,
    /// Copies make no misaligned access, and take no more cycles than they did
    Copy,
    /// What it costs to watch the hosts
    Cost,
    /// A device of known throughput is measured, and it or the tester named as the limit
    Dut {
        /// How often each case is run
        #[arg(long, value_name = "COUNT", default_value_t = 1)]
        runs: u32,
    },
    /// Behind a forwarder with a rate of its own every row names the path and its rate
    Forwarder(Cases),
    /// A search finds the rate of a shaper, and tells other limits from it
    Knee(Cases),
    /// Random programs of tasks of the runtime count exactly, here and on other machines (qemu), and
    /// ThreadSanitizer finds no race
    Mars {
        /// For so long on each machine
        #[arg(long, value_name = "COUNT", default_value_t = 10)]
        minutes: u64,
    },
    /// Meshes of up to 10,000 simulated hosts: faults found, false alarms, tests and time
    Mesh,
    /// A simulated host of `mesh-coordinator`
    #[command(hide = true)]
    MeshAgent {
        /// Its name, and the program that would be started there
        #[arg(trailing_var_arg = true)]
        words: Vec<String>,
    },
    /// What the coordinator of a mesh of 1,000 simulated hosts takes: memory, CPU, results at once
    MeshCoordinator,
    /// Meshes under a Slurm of this machine: faults named, a node lost, a job requeued
    MeshSlurm,
    /// The rate of UDP without -b, and the knee of a sweep, are those of a shaper
    Rates(Cases),
    /// How much is to be read until the answer, for five kinds of users
    Screens,
    /// Each rule says what is wrong where it is, and nothing where nothing is
    Stamps(Cases),
    /// The history outlives kills of its writers, and answers fast when it is large
    Store,
    /// Tunings find what was planted, leave clean hosts alone, and are undone when they are killed
    Tune {
        /// Only misconfigurations whose name contains this, `clean` hosts, or `killed` tunings
        #[arg(long, value_name = "TEXT")]
        only: Option<String>,
        /// Tunings of a clean host, or that are killed [default: 10 and 200]
        #[arg(long, value_name = "COUNT")]
        times: Option<u32>,
    },
    /// Settings are restored after kills at any instant of a process that changes them
    Tuning,
}

/// Cases that are files of a folder
#[derive(Clone, Debug, Args)]
struct Cases {
    /// Only cases whose name contains this, e.g. tcp-181, run-delay or clean
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// How often each case is run
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    runs: u32,
    /// Keep the record of each run in a folder
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    #[command(flatten)]
    machines: Machines,
}

impl Proof {
    pub(crate) fn run(self) -> Result<String> {
        if matches!(self.what, What::Copy) && self.short {
            return copy::short().map(|()| "proof copy: all right".to_owned());
        }
        if let What::Mars { minutes } = self.what {
            let full = Duration::from_secs(60 * minutes);
            return if self.short { mars::short(RANDOM_PROGRAMS) } else { mars::run(full) };
        }
        if matches!(self.what, What::MeshAgent { .. }) {
            return mesh_coordinator::agent();
        }
        if matches!(self.what, What::Mesh) {
            return mesh::run(self.short);
        }
        let program = match self.linerate {
            Some(path) => path,
            None => Workspace::find()?.build_release()?,
        };
        if let Some(reason) = hosts::prepare() {
            return Ok(format!("proof: not run, since no hosts can be made here: {reason}"));
        }
        let under_test = UnderTest { program, short: self.short };
        match self.what {
            What::Forwarder(cases) => cases.run("forwarder", &under_test),
            What::Knee(cases) => cases.run("knee", &under_test),
            What::Ledger(cases) => cases.run("ledger", &under_test),
            What::Rates(cases) => cases.run("rates", &under_test),
            What::Stamps(cases) => cases.run("stamps", &under_test),
            What::Attribution => verdict("attribution", &attribution::run(&under_test)?),
            What::Ab => ab::run(&under_test),
            What::Comparison => comparison::run(&under_test),
            What::Copy => copy::run(&under_test),
            What::Cost => cost::run(&under_test),
            What::Dut { runs } => verdict("dut", &dut::run(&under_test, runs)?),
            What::Mars { .. } | What::MeshAgent { .. } => unreachable!("it needs no program"),
            What::Mesh => mesh::run(under_test.short),
            What::MeshCoordinator => {
                verdict("mesh-coordinator", &mesh_coordinator::run(&under_test)?)
            }
            What::MeshSlurm => verdict("mesh-slurm", &mesh_slurm::run(&under_test)?),
            What::Screens => verdict("screens", &screens::run(&under_test)?),
            What::Store => store::run(&under_test),
            What::Tune { only, times } => {
                verdict("tune", &tune::run(&under_test, only.as_deref(), times)?)
            }
            What::Tuning => tuning::run(&under_test),
        }
    }
}

impl Cases {
    fn run(&self, folder: &str, under_test: &UnderTest) -> Result<String> {
        let runner = Runner { under_test, keep: self.keep.as_deref(), is_stopped: &|| false };
        let only = self.only.as_deref();
        verdict(folder, &planted::run(&runner, folder, only, self.runs, &self.machines)?)
    }
}

/// Time of the random programs in the short form.
const RANDOM_PROGRAMS: Duration = Duration::from_secs(5);

/// The short forms of the ledger, of A/B tests and of tunings, each in a process of its own: to make
/// hosts it may have to enter a user namespace; and of copies
/// and of meshes, which need no hosts.
pub(crate) fn short(workspace: &Workspace) -> Result<()> {
    ["ledger", "ab", "tune"].into_iter().try_for_each(|name| short_of(name, workspace))?;
    copy::short()?;
    mesh::run(true).map(say)
}

fn short_of(name: &str, workspace: &Workspace) -> Result<()> {
    let mut run = Command::new(env::current_exe()?);
    run.args(["proof", name, "--short", "--linerate"]);
    command::run(run.arg(workspace.build(Build::Checked)?).current_dir(&workspace.root))
}

/// Runs pairs of tests, one with something and one without it: the ratios of their rates.
fn ratios(pairs: u32, mut run: impl FnMut(Presence) -> Result<TestRecord>) -> Result<Vec<f64>> {
    let mut rate = |presence| {
        let rate = run(presence)?.outcome.rate().context("no rate")?;
        anyhow::Ok(rate.bits_per_second() as f64)
    };
    let mut ratios = Vec::new();
    for pair in 0..pairs {
        // What comes first has now this and now that advantage.
        let (with, without) = if pair % 2 == 0 {
            (rate(Presence::With)?, rate(Presence::Without)?)
        } else {
            let without = rate(Presence::Without)?;
            (rate(Presence::With)?, without)
        };
        ratios.push(with / without);
    }
    Ok(ratios)
}

/// Whether a test has what is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    With,
    Without,
}

/// How one case went.
pub(crate) struct Outcome {
    /// What was planted.
    name: String,
    /// Whether that is right.
    right: bool,
}

/// Says how all cases went.
fn verdict(what: &str, cases: &[Outcome]) -> Result<String> {
    let wrong: Vec<_> =
        cases.iter().filter(|case| !case.right).map(|case| case.name.as_str()).collect();
    ensure!(
        wrong.is_empty(),
        "proof {what}: {} of {} wrong: {}",
        wrong.len(),
        cases.len(),
        wrong.join(", ")
    );
    Ok(format!("proof {what}: {} cases, all right", cases.len()))
}

impl Outcome {
    /// Shows it at once: the next one takes its time.
    fn show(name: impl Into<String>, seen: impl Into<String>, right: bool) -> Self {
        let name = name.into();
        say(format!("{} {name}: {}", if right { "ok   " } else { "WRONG" }, seen.into()));
        Self { name, right }
    }
}
