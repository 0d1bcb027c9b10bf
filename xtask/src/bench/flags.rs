//! Flags that the benches have in common.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Args;
use testbed::candidate::{Candidate, Part};
use testbed::comparison::Job;
use testbed::output::say;
use testbed::promise::{self, Outcome, Promise};
use testbed::rounds::JobRow;
use testbed::topology::Path;
use testbed::workload::{Exchange, Traffic, Workload};

use crate::packages;
use crate::workspace::Workspace;

/// Which programs take part, how often, how long, and where it is written.
#[derive(Debug, Args)]
pub(super) struct Flags {
    /// A further program to compare with; may be given several times
    #[arg(long, value_name = "PATH")]
    pub(super) peer: Vec<PathBuf>,
    /// A linerate to use in place of the one that is built here
    #[arg(long, value_name = "PATH")]
    pub(super) linerate: Option<PathBuf>,
    /// How often each program runs each row
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(super) rounds: u32,
    /// Seconds of each run
    #[arg(long, default_value_t = 3, value_name = "S", value_parser = clap::value_parser!(u32).range(1..=600))]
    pub(super) time: u32,
    /// Write the tables to a file too
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

/// The paths of the benches on hosts of their own.
#[derive(Debug, Args)]
pub(super) struct Over {
    /// Ways from client to server
    #[arg(long, value_name = "WAY,..", value_delimiter = ',', default_values_t = [Path::Loopback, Path::Veth])]
    pub(super) over: Vec<Path>,
}

/// Whether promises matter.
#[derive(Debug, Args)]
pub(super) struct Strict {
    /// Fail if a promise is missed
    #[arg(long)]
    strict: bool,
}

impl Flags {
    /// Our program as it comes, built unless it was named.
    pub(super) fn candidate(&self) -> Result<Candidate> {
        Candidate::find(ours(self.linerate.as_ref())?, Part::Ours, &STREAMS)
    }

    /// The programs that were named; each must do one of these.
    pub(super) fn peers(&self, kinds: &[Workload]) -> Result<Vec<Candidate>> {
        self.peer.iter().map(|path| Candidate::find(path, Part::Peer, kinds)).collect()
    }

    /// Shows a report, and writes it where it was asked for.
    pub(super) fn publish(&self, report: &str) -> Result<()> {
        publish(report, self.markdown.as_ref())
    }
}

impl Over {
    /// Every workload over each of the paths.
    pub(super) fn jobs(&self, workloads: impl IntoIterator<Item = Workload>) -> Vec<Job> {
        Job::each(workloads, &self.over)
    }
}

impl Strict {
    /// Checks the promises; the last line of a bench.
    pub(super) fn verdict<J>(
        &self,
        promises: &[Promise<J>],
        rows: &[JobRow<J>],
        name: fn(&J) -> String,
    ) -> Result<String> {
        self.sum_up(&promise::check(promises, rows, name))
    }

    /// Shows what came of each promise; the last line of a bench.
    pub(super) fn sum_up(&self, outcomes: &[Outcome]) -> Result<String> {
        outcomes.iter().for_each(say);
        let kept = outcomes.iter().filter(|one| one.kept()).count();
        let verdict = format!("bench: {kept} of {} promises kept", outcomes.len());
        ensure!(kept == outcomes.len() || !self.strict, "{verdict}");
        Ok(verdict)
    }
}

/// The installed program of that name.
pub(super) fn installed(name: &str) -> Result<Candidate> {
    require(&[name])?;
    let part = if name == "iperf3" { Part::Installed } else { Part::Peer };
    Candidate::find(name, part, &[&STREAMS[..], &EXCHANGES].concat())
}

/// The program at a path, or the one that is built here.
pub(super) fn ours(named: Option<&PathBuf>) -> Result<PathBuf> {
    named.map_or_else(|| Workspace::find()?.build_release(), |path| Ok(path.clone()))
}

/// Shows a report, and writes it to a file too.
pub(super) fn publish(report: &str, file: Option<&PathBuf>) -> Result<()> {
    say(format!("\n{report}"));
    let Some(file) = file else { return Ok(()) };
    fs::write(file, report).with_context(|| format!("cannot write {}", file.display()))
}

/// Fails if a program is not installed.
pub(super) fn require(programs: &[&str]) -> Result<()> {
    for program in programs {
        ensure!(
            packages::is_there(program),
            "no {program}; install it with `apt-get install {program}`"
        );
    }
    Ok(())
}

/// What a program is to do that sends streams: any of these.
pub(super) const STREAMS: [Workload; 2] = [Workload::tcp(1), Workload::datagrams(1460)];

/// What a program is to do that exchanges requests and responses: any of these.
pub(super) const EXCHANGES: [Workload; 3] = [
    Workload::exchange(Exchange::Tcp, 64),
    Workload::exchange(Exchange::Udp, 64),
    Workload::exchange(Exchange::Connect, 64),
];

/// Whether it is datagrams.
pub(super) fn is_udp(workload: &Workload) -> bool {
    workload.traffic == Traffic::Udp
}
