//! `bench table`: where linerate stands among its peers, workload by workload.
//!
//! It promises nothing; the promises have benches of their own.

use anyhow::Result;
use clap::{Args, ValueEnum};
use testbed::candidate::{Candidate, FASTEST};
use testbed::comparison::{Comparison, Job};
use testbed::rounds::JobRow;
use testbed::workload::{Direction, Workload};

use super::compared::{Bench, Congestion};
use super::datagrams::PIECES;
use super::flags::{Flags, Over, STREAMS, installed, is_udp};
use super::peers;
use crate::packages;

mod report;

/// Sets linerate beside iperf3, iperf and further peers: every direction, TCP and UDP
#[derive(Debug, Args)]
pub(super) struct Overview {
    #[command(flatten)]
    over: Over,
    /// Only this protocol
    #[arg(long, value_name = "WHICH")]
    only: Option<Protocol>,
    /// Who sends
    #[arg(long, value_name = "WHO,..", value_delimiter = ',', default_values_t = [Direction::Send, Direction::Reverse, Direction::Both])]
    directions: Vec<Direction>,
    /// Numbers of streams of TCP
    #[arg(long, value_name = "N,..", value_delimiter = ',', default_values_t = [1, 4], value_parser = clap::value_parser!(u32).range(1..=128))]
    counts: Vec<u32>,
    /// Bytes of payload of a datagram
    #[arg(long, value_name = "N,..", value_delimiter = ',', default_values_t = [1460, 64], value_parser = clap::value_parser!(u32).range(16..=65_507))]
    lengths: Vec<u32>,
    /// A column for each engine of linerate
    #[arg(long)]
    every_engine: bool,
    /// Two rounds of one second of three rows: less than a minute
    #[arg(long, conflicts_with_all = ["rounds", "time", "over", "only", "directions", "counts", "lengths", "every_engine"])]
    short: bool,
    /// A date to put at the head of the table
    #[arg(long, value_name = "DATE")]
    date: Option<String>,
}

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Protocol {
    /// TCP
    Tcp,
    /// UDP
    Udp,
}

impl Bench for Overview {
    const CONGESTION: Congestion = Congestion::Common;
    const SHOW: fn(&JobRow<Job>) = report::show;

    /// For TCP ours, ours at its fastest and the peers; the same for UDP, with a CPU for each
    /// side, since what a sender outruns there is lost.
    fn candidates(&self, flags: &Flags) -> Result<Vec<Candidate>> {
        packages::provide(&packages::SENDERS)?;
        let ours = flags.candidate()?;
        let every = |engines: &[&str]| -> Vec<Candidate> {
            let engines = engines.iter().filter(|_| self.every_engine);
            engines.map(|name| ours.variant(&format!("--engine {name}"))).collect()
        };
        let tcp = [ours.clone(), ours.variant(FASTEST)].into_iter().chain(every(&TCP_ENGINES));
        let tcp = tcp.chain(others(flags, &Workload::tcp(1))?);
        let udp = [ours.clone(), ours.variant(PIECES)].into_iter().chain(every(&UDP_ENGINES));
        let udp = udp.chain(others(flags, &Workload::datagrams(1460))?);
        let tcp = tcp.map(|one| one.only_for(|workload| !is_udp(workload)));
        let udp = udp.map(|one| one.only_for(is_udp).pinned());
        Ok(tcp.chain(udp).collect())
    }

    fn jobs(&self) -> Vec<Job> {
        let over = &self.over.over;
        if self.short {
            let mut jobs = Job::each([Workload::tcp(1)], over);
            jobs.extend(Job::each([Workload::datagrams(1460)], &over[..1]));
            return jobs;
        }
        let tcp = self.counts.iter().map(|&streams| Workload::tcp(streams));
        let udp = self.lengths.iter().map(|&length| Workload::datagrams(length));
        let every = |workload: Workload| {
            self.directions.iter().map(move |&direction| workload.towards(direction))
        };
        let workloads =
            tcp.filter(|_| self.has(Protocol::Tcp)).chain(udp.filter(|_| self.has(Protocol::Udp)));
        Job::each(workloads.flat_map(every), over)
    }

    fn extent(&self, flags: &Flags) -> (u32, u32) {
        if self.short { (2, 1) } else { (flags.rounds, flags.time) }
    }

    fn head(&self, comparison: &Comparison) -> Result<String> {
        let rules = report::rules(comparison).into_iter().chain(self.date.clone());
        peers::head("linerate beside its peers", comparison, &self.over.over, rules)
    }

    fn report(&self, _comparison: &Comparison, rows: &[JobRow<Job>]) -> String {
        report::report(rows)
    }

    fn verdict(&self, rows: &[JobRow<Job>]) -> Result<String> {
        let ahead = peers::ahead(rows.iter().filter_map(peers::best));
        Ok(format!(
            "table: the best of linerate moves at least what the best peer moves in {ahead}"
        ))
    }
}

impl Overview {
    fn has(&self, protocol: Protocol) -> bool {
        self.only.is_none_or(|only| only == protocol)
    }
}

/// The installed iperf3 and iperf, then those that were named, each in all its ways.
fn others(flags: &Flags, workload: &Workload) -> Result<Vec<Candidate>> {
    let installed = [installed("iperf3")?, installed("iperf")?];
    let all = installed.into_iter().chain(flags.peers(&STREAMS)?);
    Ok(all.flat_map(|one| one.in_all_ways(workload)).collect())
}

const TCP_ENGINES: [&str; 12] = [
    "write",
    "sendfile",
    "vmsplice",
    "zerocopy",
    "uring",
    "uring-zerocopy",
    "read",
    "msg-trunc",
    "splice",
    "zerocopy-receive",
    "uring-multishot",
    "vmsplice,msg-trunc",
];
const UDP_ENGINES: [&str; 5] = ["send", "sendmmsg", "gso", "recvmmsg", "gro"];
