//! `bench datagrams`: UDP as fast as it goes, each datagram on its own and many in one piece.
//!
//! It plays by the rules of [`super::streams`]; client and server have a CPU each.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use super::promise::{self, Judged, Strictness};
use super::spread::Spread;
use super::streams::{Contender, Contest, Entry, Metric, Part, Route, Row, reference, table};
use crate::output::say;
use crate::packages;
use crate::workspace::Workspace;

/// Compares UDP without a rate with iperf3 and with plain loops
#[derive(Debug, Args)]
pub(super) struct Datagrams {
    /// A further iperf3 to compare with
    #[arg(long, value_name = "PATH")]
    peer: Vec<PathBuf>,
    /// A linerate to use in place of the one that is built here
    #[arg(long, value_name = "PATH")]
    linerate: Option<PathBuf>,
    /// How often each program runs each row
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Seconds of each run
    #[arg(long, default_value_t = 3, value_name = "S", value_parser = clap::value_parser!(u32).range(1..=600))]
    time: u32,
    /// Bytes of payload
    #[arg(long, value_name = "N,..", value_delimiter = ',', default_values_t = [1460, 64], value_parser = clap::value_parser!(u32).range(16..=65_507))]
    lengths: Vec<u32>,
    /// Ways from client to server
    #[arg(long, value_name = "WAY,..", value_delimiter = ',', default_values_t = [Route::Lo])]
    over: Vec<Route>,
    /// Write the tables to a file too
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Fail if a promise is missed
    #[arg(long)]
    strict: bool,
}

impl Datagrams {
    pub(super) fn run(self) -> Result<String> {
        let contenders = self.contenders()?;
        // Before the first thread, as it asks.
        if let lab::Access::Forbidden { reason } = lab::prepare() {
            bail!("cannot make hosts to run on: {reason}");
        }
        let (mut report, mut judged) = (String::new(), Vec::new());
        for &length in &self.lengths {
            let contest = Contest {
                rounds: self.rounds,
                seconds: self.time,
                congestion: "none".to_owned(),
                length: Some(length),
            };
            let rows: Result<Vec<_>> =
                self.over.iter().map(|route| contest.row(1, *route, &contenders)).collect();
            let rows = rows?;
            // Writing to a String does not fail.
            _ = writeln!(
                report,
                "## Datagrams of {length} bytes\n\n{}",
                table::of(&contest, &rows)
            );
            judged.extend(rows.iter().flat_map(|row| judge(length, row)));
        }
        say(format!("\n{report}"));
        if let Some(file) = &self.markdown {
            fs::write(file, &report).with_context(|| format!("cannot write {}", file.display()))?;
        }
        promise::verdict(&judged, Strictness::of(self.strict))
    }

    /// Ours first, each datagram on its own, then ours in pieces, then the others.
    fn contenders(&self) -> Result<Vec<Contender>> {
        for program in ["iperf3", "taskset"] {
            ensure!(packages::is_there(program), "no {program}; install it with apt-get");
        }
        let workspace = Workspace::find()?;
        let ours = match &self.linerate {
            Some(path) => path.clone(),
            None => workspace.build_release()?,
        };
        let plain = reference::build(&workspace, "datagrams")?;
        let mut contenders = vec![
            Contender::find(ours.clone(), Part::Ours)?.with(SEPARATE),
            Contender::find(ours, Part::Variant)?.with(PIECES),
            Contender::find("iperf3".into(), Part::Installed)?,
        ];
        for peer in &self.peer {
            contenders.push(Contender::find(peer.clone(), Part::Peer)?);
            contenders.push(gsro(peer)?);
        }
        contenders.push(Contender::reference(plain.clone()).told("0", "plain C loop"));
        contenders.push(
            Contender::reference(plain).told("1", "plain C loop, pieces").there_for(Part::Best),
        );
        Ok(contenders.into_iter().map(Contender::pinned).collect())
    }
}

/// An iperf3 that sends and takes pieces, if it can.
fn gsro(path: &Path) -> Result<Contender> {
    Ok(Contender::find(path.to_owned(), Part::Peer)?.with("--gsro"))
}

fn judge(length: u32, row: &Row) -> Vec<Judged> {
    let ratio = |one, other| {
        let (one, other): (&Entry, &Entry) = (row.entry(one)?, row.entry(other)?);
        Some(Spread::of_ratios(&one.of(Metric::Rate), &other.of(Metric::Rate))?.median)
    };
    let text = |promise: &str| format!("{length} bytes over {}: {promise}", row.route);
    let alone = ratio(Part::Ours, Part::Installed);
    let pieces = ratio(Part::Variant, Part::Installed);
    let loops = ratio(Part::Variant, Part::Best);
    let mut judged = if length >= 1000 {
        vec![
            Judged::new(text("rate >= 1.25 x iperf3"), alone, |ratio| ratio >= 1.25),
            Judged::new(text("in pieces: rate >= 24 x iperf3"), pieces, |ratio| ratio >= 24.0),
        ]
    } else {
        vec![
            Judged::new(text("rate >= 1.15 x iperf3"), alone, |ratio| ratio >= 1.15),
            Judged::new(text("in pieces: rate >= 100 x iperf3"), pieces, |ratio| ratio >= 100.0),
        ]
    };
    judged.push(Judged::new(text("in pieces: rate >= 0.95 x the plain loop"), loops, |ratio| {
        ratio >= 0.95
    }));
    judged
}

const SEPARATE: &str = "--engine sendmmsg,recvmmsg";
const PIECES: &str = "--engine segment,coalesce";
