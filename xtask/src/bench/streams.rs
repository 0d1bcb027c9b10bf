//! `bench streams`: the same work over one stream and over thousands.
//!
//! Every run has a host or two of its own (crate `lab`), so that nothing else passes
//! its interface and no connection of an earlier run lingers there. The interface's
//! counters are the witness of what a program says it moved.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

pub(super) use self::contender::{Contender, Part};
pub(super) use self::contest::{Contest, Entry, Row, congestion};
pub(super) use self::figures::Metric;
pub(super) use self::scene::Route;
use super::promise::{self, Strictness};
use crate::output::say;
use crate::packages;
use crate::workspace::Workspace;

mod contender;
mod contest;
mod fairness;
mod figures;
mod interface;
mod judgement;
mod machine;
pub(super) mod reference;
mod run;
mod scene;
pub(super) mod table;

/// Compares many streams with iperf3 and with a plain loop, over lo and a veth pair
#[derive(Debug, Args)]
pub(super) struct Streams {
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
    /// Numbers of streams
    #[arg(long, value_name = "N,..", value_delimiter = ',', default_values_t = [1, 16, 128, 10_000], value_parser = clap::value_parser!(u32).range(1..=20_000))]
    counts: Vec<u32>,
    /// Ways from client to server
    #[arg(long, value_name = "WAY,..", value_delimiter = ',', default_values_t = [Route::Lo, Route::Veth])]
    over: Vec<Route>,
    /// Write the tables to a file too
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Fail if a promise is missed
    #[arg(long)]
    strict: bool,
}

impl Streams {
    pub(super) fn run(self) -> Result<String> {
        let contenders = self.contenders()?;
        // Before the first thread, as it asks.
        if let lab::Access::Forbidden { reason } = lab::prepare() {
            bail!("cannot make hosts to run on: {reason}");
        }
        let congestion = congestion(&contenders)?;
        let contest = Contest { rounds: self.rounds, seconds: self.time, congestion, length: None };
        let rows = self.play(&contest, &contenders)?;
        let report = table::of(&contest, &rows);
        say(format!("\n{report}"));
        if let Some(file) = &self.markdown {
            fs::write(file, &report).with_context(|| format!("cannot write {}", file.display()))?;
        }
        promise::verdict(&judgement::of(&rows), Strictness::of(self.strict))
    }

    fn play(&self, contest: &Contest, contenders: &[Contender]) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for &streams in &self.counts {
            for &route in &self.over {
                rows.push(contest.row(streams, route, contenders)?);
            }
        }
        Ok(rows)
    }

    /// Ours first, then the installed iperf3, the peers and the plain loop.
    fn contenders(&self) -> Result<Vec<Contender>> {
        ensure!(
            packages::is_there("iperf3"),
            "no iperf3; install it with `apt-get install iperf3`"
        );
        let workspace = Workspace::find()?;
        let ours = match &self.linerate {
            Some(path) => path.clone(),
            None => workspace.build_release()?,
        };
        let mut contenders = vec![
            Contender::find(ours, Part::Ours)?,
            Contender::find("iperf3".into(), Part::Installed)?,
        ];
        for peer in &self.peer {
            contenders.push(Contender::find(peer.clone(), Part::Peer)?);
        }
        contenders.push(Contender::reference(reference::build(&workspace, "streams")?));
        Ok(contenders)
    }
}
