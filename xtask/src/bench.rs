//! `bench`: an honest comparison of linerate and iperf3 on this machine.
//!
//! The programs take turns, A B A B, so that whatever else the machine does hits
//! them alike; ratios are taken within a round. Every program is its own server.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::{Args, Subcommand};

use crate::output::say;
use crate::packages;
use crate::workspace::Workspace;

mod congestion;
mod contest;
mod datagrams;
mod dialect;
mod engines;
mod environment;
mod exchanges;
mod flags;
mod identity;
mod mars;
mod measure;
mod memory;
mod pacing;
mod peers;
mod process;
mod program;
mod progress;
mod promise;
mod row;
mod series;
mod spread;
mod standing;
mod streams;
mod table;

use contest::Contest;
use program::Program;
pub(crate) use program::free_port;
use promise::Strictness;

/// Compares linerate with the installed iperf3 over loopback
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Bench {
    #[command(subcommand)]
    special: Option<Special>,
    /// A further program to compare with: another linerate or iperf3
    #[arg(long, value_name = "PATH")]
    peer: Vec<PathBuf>,
    /// A linerate to use in place of the one that is built here
    #[arg(long, value_name = "PATH")]
    linerate: Option<PathBuf>,
    /// How often each program runs each row
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Seconds of each run
    #[arg(long, default_value_t = 5, value_name = "S", value_parser = clap::value_parser!(u32).range(1..=600))]
    time: u32,
    /// Two rounds of one second
    #[arg(long, conflicts_with_all = ["rounds", "time"])]
    quick: bool,
    /// Write the tables to a file too
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Fail if a promise is missed
    #[arg(long)]
    strict: bool,
}

/// Comparisons of one thing each.
#[derive(Debug, Subcommand)]
enum Special {
    Streams(streams::Streams),
    Pacing(pacing::Pacing),
    Engines(engines::Engines),
    Datagrams(datagrams::Datagrams),
    Mars(mars::Mars),
    Table(standing::Standing),
    Exchanges(exchanges::Exchanges),
    Memory(memory::Memory),
}

impl Bench {
    pub(crate) fn run(self) -> Result<String> {
        match self.special {
            Some(Special::Streams(streams)) => streams.run(),
            Some(Special::Pacing(pacing)) => pacing.run(),
            Some(Special::Engines(engines)) => engines.run(),
            Some(Special::Datagrams(datagrams)) => datagrams.run(),
            Some(Special::Mars(mars)) => mars.run(),
            Some(Special::Table(table)) => table.run(),
            Some(Special::Exchanges(exchanges)) => exchanges.run(),
            Some(Special::Memory(memory)) => memory.run(),
            None => self.compare(),
        }
    }

    fn compare(self) -> Result<String> {
        let programs = self.programs()?;
        let (rounds, seconds) = if self.quick { (2, 1) } else { (self.rounds, self.time) };
        let contest = Contest { rounds, seconds, congestion: congestion::common(&programs)? };
        say(format!("programs: {}; congestion control {}", names(&programs), contest.congestion));

        let series = contest.play(&programs)?;
        let report = table::of(&contest, &series);
        say(format!("\n{report}"));
        if let Some(file) = &self.markdown {
            fs::write(file, &report).with_context(|| format!("cannot write {}", file.display()))?;
        }
        promise::verdict(&promise::judge(&series), Strictness::of(self.strict))
    }

    /// Ours first, the installed iperf3 second.
    fn programs(&self) -> Result<Vec<Program>> {
        ensure!(
            packages::is_there("iperf3"),
            "no iperf3; install it with `apt-get install iperf3`"
        );
        let ours = match &self.linerate {
            Some(path) => path.clone(),
            None => Workspace::find()?.build_release()?,
        };
        let all = [ours, "iperf3".into()].into_iter().chain(self.peer.iter().cloned());
        all.map(Program::start).collect()
    }
}

fn names(programs: &[Program]) -> String {
    programs.iter().map(|program| program.name.as_str()).collect::<Vec<_>>().join(", ")
}
