//! `bench streams`: the same work over one stream and over thousands.
//!
//! Every run has a host or two of its own (crate `lab`), so that nothing else passes
//! its interface and no connection of an earlier run lingers there. The interface's
//! counters are the witness of what a program says it moved.

use anyhow::{Result, ensure};
use clap::Args;

pub(super) use self::contender::{Contender, Part};
pub(super) use self::contest::{Contest, Entry, Job, Row, congestion, each_way};
#[cfg(test)]
pub(super) use self::figures::Figures;
pub(super) use self::figures::Metric;
pub(super) use self::run::{Server, told_why};
pub(super) use self::scene::{Route, Scene};
pub(super) use self::workload::{Direction, Workload};
use super::flags::{Flags, prepare_hosts};
use super::promise::{self, Strictness};
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
mod workload;

/// Compares many streams with iperf3 and with a plain loop, over lo and a veth pair
#[derive(Debug, Args)]
#[command(mut_arg("time", |time| time.default_value("5")))]
pub(super) struct Streams {
    #[command(flatten)]
    flags: Flags,
    /// Numbers of streams
    #[arg(long, value_name = "N,..", value_delimiter = ',', default_values_t = [1, 16, 128, 10_000], value_parser = clap::value_parser!(u32).range(1..=20_000))]
    counts: Vec<u32>,
    /// Fail if a promise is missed
    #[arg(long)]
    strict: bool,
}

impl Streams {
    pub(super) fn run(self) -> Result<String> {
        let contenders = self.contenders()?;
        // Before the first thread, as it asks.
        prepare_hosts()?;
        let congestion = congestion(&contenders)?;
        let (rounds, seconds) = (self.flags.rounds, self.flags.time);
        let contest = Contest { rounds, seconds, congestion };
        let rows = contest.rows(&self.jobs(), &contenders, Row::show)?;
        let report = table::of(&contest, &rows);
        self.flags.publish(&report)?;
        promise::verdict(&judgement::of(&rows), Strictness::of(self.strict))
    }

    fn jobs(&self) -> Vec<Job> {
        let workloads = self.counts.iter().map(|&streams| Workload::tcp(streams));
        each_way(workloads, &self.flags.over)
    }

    /// Ours first, then the installed iperf3, the peers and the plain loop.
    fn contenders(&self) -> Result<Vec<Contender>> {
        ensure!(
            packages::is_there("iperf3"),
            "no iperf3; install it with `apt-get install iperf3`"
        );
        let workspace = Workspace::find()?;
        let ours = self.flags.ours(&workspace)?;
        let mut contenders = vec![
            Contender::find(ours, Part::Ours)?,
            Contender::find("iperf3".into(), Part::Installed)?,
        ];
        for peer in &self.flags.peer {
            contenders.push(Contender::find(peer.clone(), Part::Peer)?);
        }
        contenders.push(Contender::reference(reference::build(&workspace, "streams")?));
        Ok(contenders)
    }
}
