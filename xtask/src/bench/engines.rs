//! `bench engines`: every engine of TCP beside iperf3's.
//!
//! It plays by the rules of [`super::streams`]: hosts of their own, the interface as witness.

use std::path::Path;

use anyhow::{Result, ensure};
use clap::Args;

use super::flags::{Flags, prepare_hosts};
use super::peers::{in_all_ways, tcp_ways};
use super::promise::{self, Judged, Strictness};
use super::spread::Spread;
use super::streams::{
    Contender, Contest, Entry, Metric, Part, Route, Row, Workload, congestion, each_way, table,
};
use crate::packages;
use crate::workspace::Workspace;

/// Compares the engines of TCP with each other and with iperf3's
#[derive(Debug, Args)]
pub(super) struct Engines {
    #[command(flatten)]
    flags: Flags,
    /// Numbers of streams
    #[arg(long, value_name = "N,..", value_delimiter = ',', default_values_t = [1], value_parser = clap::value_parser!(u32).range(1..=128))]
    counts: Vec<u32>,
    /// Engines beside the usual ones, as for `linerate test --engine`
    #[arg(long, value_name = "NAMES", default_values = ENGINES)]
    engine: Vec<String>,
    /// Fail if a promise is missed
    #[arg(long)]
    strict: bool,
}

impl Engines {
    pub(super) fn run(self) -> Result<String> {
        let contenders = self.contenders()?;
        // Before the first thread, as it asks.
        prepare_hosts()?;
        let congestion = congestion(&contenders)?;
        let (rounds, seconds) = (self.flags.rounds, self.flags.time);
        let contest = Contest { rounds, seconds, congestion };
        let workloads = self.counts.iter().map(|&streams| Workload::tcp(streams));
        let jobs = each_way(workloads, &self.flags.over);
        let rows = contest.rows(&jobs, &contenders, Row::show)?;
        let report = table::of(&contest, &rows);
        self.flags.publish(&report)?;
        let judged: Vec<_> = rows.iter().flat_map(judge).collect();
        promise::verdict(&judged, Strictness::of(self.strict))
    }

    /// Ours by the usual engines first, then by the others, then iperf3 and the peers, each
    /// with its own ways.
    fn contenders(&self) -> Result<Vec<Contender>> {
        ensure!(
            packages::is_there("iperf3"),
            "no iperf3; install it with `apt-get install iperf3`"
        );
        let ours = self.flags.ours(&Workspace::find()?)?;
        let mut contenders = vec![Contender::find(ours.clone(), Part::Ours)?];
        for names in &self.engine {
            let by = format!("--engine {names}");
            contenders.push(Contender::find(ours.clone(), Part::Variant)?.with(&by));
        }
        let installed = Path::new("iperf3");
        contenders.extend(in_all_ways(installed, Part::Installed, tcp_ways)?);
        for peer in &self.flags.peer {
            contenders.extend(in_all_ways(peer, Part::Peer, tcp_ways)?);
        }
        Ok(contenders)
    }
}

/// The usual engines against iperf3's, and the fastest of all against the fastest of others.
fn judge(row: &Row) -> Vec<Judged> {
    let (Some(ours), Some(iperf3)) = (row.entry(Part::Ours), row.entry(Part::Installed)) else {
        return Vec::new();
    };
    let ratio = |one: &Entry, other: &Entry, metric| {
        let ratios = Spread::of_ratios(&one.of(metric), &other.of(metric));
        ratios.map(|spread| spread.median)
    };
    let text =
        |promise: &str| format!("{} streams over {}: {promise}", row.workload.streams, row.route);
    let mut judged = vec![
        Judged::new(
            text("usual engines: rate >= 1.15 x iperf3"),
            ratio(ours, iperf3, Metric::Rate),
            |ratio| ratio >= 1.15,
        ),
        Judged::new(
            text("usual engines: CPU for each GB <= 0.75 x iperf3"),
            ratio(ours, iperf3, Metric::Cpu),
            |ratio| ratio <= 0.75,
        ),
    ];
    let fastest = |parts: &[Part]| {
        let entries = row.entries.iter().filter(|entry| parts.contains(&entry.part));
        entries.max_by(|one, other| middle(one).total_cmp(&middle(other)))
    };
    let both = fastest(&[Part::Ours, Part::Variant]).zip(fastest(&[
        Part::Installed,
        Part::Peer,
        Part::PeerVariant,
    ]));
    let ratio = both.and_then(|(one, other)| ratio(one, other, Metric::Rate));
    judged.push(match row.route {
        Route::Lo => {
            Judged::new(text("fastest: rate >= 1.40 x the fastest iperf3"), ratio, |ratio| {
                ratio >= 1.40
            })
        }
        Route::Veth => {
            Judged::new(text("fastest: rate >= 1.15 x the fastest iperf3"), ratio, |ratio| {
                ratio >= 1.15
            })
        }
    });
    judged
}

fn middle(entry: &Entry) -> f64 {
    Spread::of(entry.of(Metric::Rate)).map_or(0.0, |spread| spread.median)
}

/// Each way to send to the usual receiver, each way to receive from the usual sender, and the
/// pairs that promise most.
const ENGINES: [&str; 12] = [
    "sendfile",
    "vmsplice",
    "zerocopy",
    "uring",
    "uring-zerocopy",
    "msg-trunc",
    "splice",
    "zerocopy-receive",
    "uring-multishot",
    "vmsplice,msg-trunc",
    "vmsplice,splice",
    "sendfile,msg-trunc",
];
