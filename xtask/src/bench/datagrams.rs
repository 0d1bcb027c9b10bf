//! `bench datagrams`: UDP as fast as it goes, each datagram on its own and many in one piece.
//! Client and server have a CPU each.

use anyhow::Result;
use clap::Args;
use testbed::candidate::Candidate;
use testbed::comparison::{Comparison, Job};
use testbed::figures::Metric;
use testbed::program::{Installed, Plain};
use testbed::promise::{self, Limit, Promise};
use testbed::rounds::{self, Part, Row};
use testbed::topology;
use testbed::workload::Workload;

use super::flags::{Flags, Over, STREAMS, Strict, installed, require};
use super::{reference, values};
use crate::workspace::Workspace;

/// Compares UDP without a rate with iperf3 and with plain loops
#[derive(Debug, Args)]
#[command(mut_arg("over", |over| over.default_value("lo")))]
pub(super) struct Datagrams {
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    over: Over,
    /// Bytes of payload
    #[arg(long, value_name = "N,..", value_delimiter = ',', default_values_t = [1460, 64], value_parser = clap::value_parser!(u32).range(16..=65_507))]
    lengths: Vec<u32>,
    #[command(flatten)]
    strict: Strict,
}

impl Datagrams {
    pub(super) fn run(self) -> Result<String> {
        let candidates = self.candidates()?;
        // Before the first thread, as it asks.
        topology::prepare()?;
        let (rounds, seconds) = (self.flags.rounds, self.flags.time);
        let comparison =
            Comparison { rounds, seconds, congestion: None, candidates, show: values::show };
        let workloads = self.lengths.iter().map(|&length| Workload::datagrams(length));
        let rows = rounds::run(&comparison, &Job::each(workloads, &self.over.over))?;
        let sections = self.lengths.iter().map(|&length| section(&comparison, length, &rows));
        self.flags.publish(&sections.collect::<String>())?;
        self.strict.verdict(&promise::check(&PROMISES, &rows, |job| {
            format!("{} bytes over {}: ", length(job), job.path)
        }))
    }

    /// Ours first, each datagram on its own, then ours in pieces, then the others.
    fn candidates(&self) -> Result<Vec<Candidate>> {
        require(&["taskset"])?;
        let iperf3 = installed("iperf3")?;
        let workspace = Workspace::find()?;
        let ours = self.flags.candidate(&workspace)?;
        let plain = Installed::known(&Plain, reference::build(&workspace, "datagrams")?);
        let plain = |part| Candidate::new(plain.clone(), part);
        let peers = self.flags.peers(&STREAMS)?.into_iter();
        let peers = peers.flat_map(|one| one.in_all_ways(&Workload::datagrams(1460)));
        let ours = [ours.clone().with("--engine sendmmsg,recvmmsg"), ours.variant(PIECES), iperf3];
        let loops = [
            plain(Part::Reference).with_name("plain C loop", "0"),
            plain(Part::Best).with_name("plain C loop, pieces", "1"),
        ];
        Ok(ours.into_iter().chain(peers).chain(loops).map(Candidate::pinned).collect())
    }
}

fn section(comparison: &Comparison, bytes: u32, rows: &[Row<Job>]) -> String {
    let rows: Vec<_> = rows.iter().filter(|row| length(&row.job) == bytes).cloned().collect();
    format!("## Datagrams of {bytes} bytes\n\n{}\n", values::report(comparison, &rows))
}

fn length(job: &Job) -> u32 {
    job.workload.length.unwrap_or_default()
}

fn is_long(job: &Job) -> bool {
    length(job) >= 1000
}

const PROMISES: [Promise<Job>; 5] = [
    Promise {
        text: "rate >= 1.25 x iperf3",
        applies: is_long,
        value: |row| row.ratio(Part::Ours, Part::Installed, Metric::Rate),
        limit: Limit::AtLeast(1.25),
    },
    Promise {
        text: "in pieces: rate >= 24 x iperf3",
        applies: is_long,
        value: |row| row.ratio(Part::Variant, Part::Installed, Metric::Rate),
        limit: Limit::AtLeast(24.0),
    },
    Promise {
        text: "rate >= 1.15 x iperf3",
        applies: |job| !is_long(job),
        value: |row| row.ratio(Part::Ours, Part::Installed, Metric::Rate),
        limit: Limit::AtLeast(1.15),
    },
    Promise {
        text: "in pieces: rate >= 100 x iperf3",
        applies: |job| !is_long(job),
        value: |row| row.ratio(Part::Variant, Part::Installed, Metric::Rate),
        limit: Limit::AtLeast(100.0),
    },
    Promise {
        text: "in pieces: rate >= 0.95 x the plain loop",
        applies: |_| true,
        value: |row| row.ratio(Part::Variant, Part::Best, Metric::Rate),
        limit: Limit::AtLeast(0.95),
    },
];

/// Engines that move many datagrams in one piece.
pub(super) const PIECES: &str = "--engine gso,gro";
