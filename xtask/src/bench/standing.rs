//! `bench table`: where linerate stands among its peers, workload by workload.
//!
//! It plays by the rules of [`super::streams`]: hosts of their own, the interface as witness.
//! It promises nothing; the promises have benches of their own.

use anyhow::Result;
use clap::{Args, ValueEnum};

use self::markdown::Head;
use super::environment::Environment;
use super::flags::{Flags, prepare_hosts};
use super::peers;
use super::streams::{
    Contender, Contest, Direction, Job, Part, Row, Workload, congestion, each_way,
};
use crate::output::say;
use crate::packages;
use crate::workspace::Workspace;

mod comparison;
mod lines;
mod markdown;

/// Sets linerate beside iperf3, iperf and further peers: every direction, TCP and UDP
#[derive(Debug, Args)]
pub(super) struct Standing {
    #[command(flatten)]
    flags: Flags,
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

impl Standing {
    pub(super) fn run(self) -> Result<String> {
        packages::provide(&packages::SENDERS)?;
        let contenders = self.contenders()?;
        // Before the first thread, as it asks.
        prepare_hosts()?;
        let (rounds, seconds) =
            if self.short { (2, 1) } else { (self.flags.rounds, self.flags.time) };
        let head = Head {
            programs: plain_names(&contenders),
            environment: Environment::look(&self.flags.over)?,
            contest: Contest { rounds, seconds, congestion: congestion(&contenders)? },
            date: self.date.clone(),
        };
        say(markdown::head(&head));
        let rows = head.contest.rows(&self.jobs(), &contenders, lines::show)?;
        self.flags.publish(&markdown::of(&head, &rows))?;
        Ok(verdict(&rows))
    }

    fn jobs(&self) -> Vec<Job> {
        if self.short {
            let (send, datagrams) = (Workload::tcp(1), Workload::datagrams(1460));
            let mut jobs = each_way([send].into_iter(), &self.flags.over);
            jobs.extend(each_way([datagrams].into_iter(), &self.flags.over[..1]));
            return jobs;
        }
        let tcp = self.counts.iter().map(|&streams| Workload::tcp(streams));
        let udp = self.lengths.iter().map(|&length| Workload::datagrams(length));
        let every = |workload| {
            self.directions.iter().map(move |&direction| Workload { direction, ..workload })
        };
        let workloads =
            tcp.filter(|_| self.has(Protocol::Tcp)).chain(udp.filter(|_| self.has(Protocol::Udp)));
        each_way(workloads.flat_map(every), &self.flags.over)
    }

    fn has(&self, protocol: Protocol) -> bool {
        self.only.is_none_or(|only| only == protocol)
    }

    /// For TCP ours, ours at its fastest and the peers; the same for UDP, with a CPU for each
    /// side, since what a sender outruns there is lost.
    fn contenders(&self) -> Result<Vec<Contender>> {
        let ours = self.flags.ours(&Workspace::find()?)?;
        let by = |flags: &str, part| Ok(Contender::find(ours.clone(), part)?.with(flags));
        let every = |engines: &[&str]| -> Result<Vec<Contender>> {
            let engines = engines.iter().filter(|_| self.every_engine);
            engines.map(|name| by(&format!("--engine {name}"), Part::Variant)).collect()
        };
        let mut tcp = vec![by("", Part::Ours)?, by("", Part::Variant)?.fastest()];
        tcp.extend(every(&TCP_ENGINES)?);
        tcp.extend(peers::tcp(&self.flags.peer)?);
        let mut udp = vec![by("", Part::Ours)?, by(PIECES, Part::Variant)?];
        udp.extend(every(&UDP_ENGINES)?);
        udp.extend(peers::udp(&self.flags.peer)?);
        let tcp = tcp.into_iter().map(|one| one.only_for(|workload| workload.length.is_none()));
        let udp =
            udp.into_iter().map(|one| one.only_for(|workload| workload.length.is_some()).pinned());
        Ok(tcp.chain(udp).collect())
    }
}

/// Each program once, without what it is asked for.
fn plain_names(contenders: &[Contender]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for contender in contenders.iter().filter(|one| one.is_plain()) {
        if !names.iter().any(|name| name == contender.name()) {
            names.push(contender.name().to_owned());
        }
    }
    names
}

fn verdict(rows: &[Row]) -> String {
    let ahead = rows.iter().filter_map(comparison::best).filter(|one| one.rate.median >= 1.0);
    let (ahead, compared) = (ahead.count(), rows.iter().filter_map(comparison::best).count());
    format!(
        "table: the best of linerate moves at least what the best peer moves in {ahead} of {compared} rows"
    )
}

/// As in `bench datagrams`.
const PIECES: &str = "--engine gso,gro";
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
