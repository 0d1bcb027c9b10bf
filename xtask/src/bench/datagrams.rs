//! `bench datagrams`: UDP as fast as it goes, each datagram on its own and many in one piece.
//!
//! It plays by the rules of [`super::streams`]; client and server have a CPU each.

use super::flags::{Flags, prepare_hosts};
use super::peers::{in_all_ways, udp_ways};
use super::promise::{self, Judged, Strictness};
use super::spread::Spread;
use super::streams::{
    Contender, Contest, Entry, Metric, Part, Row, Workload, each_way, reference, table,
};
use crate::packages;
use crate::workspace::Workspace;
use anyhow::{Result, ensure};
use clap::Args;

/// Compares UDP without a rate with iperf3 and with plain loops
#[derive(Debug, Args)]
#[command(mut_arg("over", |over| over.default_value("lo")))]
pub(super) struct Datagrams {
    #[command(flatten)]
    flags: Flags,
    /// Bytes of payload
    #[arg(long, value_name = "N,..", value_delimiter = ',', default_values_t = [1460, 64], value_parser = clap::value_parser!(u32).range(16..=65_507))]
    lengths: Vec<u32>,
    /// Fail if a promise is missed
    #[arg(long)]
    strict: bool,
}

impl Datagrams {
    pub(super) fn run(self) -> Result<String> {
        let contenders = self.contenders()?;
        // Before the first thread, as it asks.
        prepare_hosts()?;
        let (rounds, seconds) = (self.flags.rounds, self.flags.time);
        let contest = Contest { rounds, seconds, congestion: "none".to_owned() };
        let workloads = self.lengths.iter().map(|&length| Workload::datagrams(length));
        let rows = contest.rows(&each_way(workloads, &self.flags.over), &contenders, Row::show)?;
        let report: String =
            self.lengths.iter().map(|&length| section(&contest, length, &rows)).collect();
        let judged: Vec<_> = rows.iter().flat_map(judge).collect();
        self.flags.publish(&report)?;
        promise::verdict(&judged, Strictness::of(self.strict))
    }

    /// Ours first, each datagram on its own, then ours in pieces, then the others.
    fn contenders(&self) -> Result<Vec<Contender>> {
        for program in ["iperf3", "taskset"] {
            ensure!(packages::is_there(program), "no {program}; install it with apt-get");
        }
        let workspace = Workspace::find()?;
        let ours = self.flags.ours(&workspace)?;
        let plain = reference::build(&workspace, "datagrams")?;
        let mut contenders = vec![
            Contender::find(ours.clone(), Part::Ours)?.with(SEPARATE),
            Contender::find(ours, Part::Variant)?.with(PIECES),
            Contender::find("iperf3".into(), Part::Installed)?,
        ];
        for peer in &self.flags.peer {
            contenders.extend(in_all_ways(peer, Part::Peer, udp_ways)?);
        }
        contenders.push(Contender::reference(plain.clone()).told("0", "plain C loop"));
        contenders.push(
            Contender::reference(plain).told("1", "plain C loop, pieces").there_for(Part::Best),
        );
        Ok(contenders.into_iter().map(Contender::pinned).collect())
    }
}

fn section(contest: &Contest, length: u32, rows: &[Row]) -> String {
    let is_of = |row: &&Row| row.workload.length == Some(length);
    let rows: Vec<Row> = rows.iter().filter(is_of).cloned().collect();
    format!("## Datagrams of {length} bytes\n\n{}\n", table::of(contest, &rows))
}

fn judge(row: &Row) -> Vec<Judged> {
    let Some(length) = row.workload.length else { return Vec::new() };
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
const PIECES: &str = "--engine gso,gro";
