//! `bench datagrams`: UDP as fast as it goes, each datagram on its own and many in one piece.
//! Client and server have a CPU each.

use anyhow::Result;
use clap::Args;
use testbed::candidate::Candidate;
use testbed::candidate::Part::{Best, Installed, Ours, Reference, Variant};
use testbed::comparison::{Comparison, Job};
use testbed::figures::Metric::Rate;
use testbed::promise::Promise;
use testbed::promise::Value::Ratio;
use testbed::rounds::JobRow;
use testbed::workload::Workload;

use super::compared::Bench;
use super::flags::{Flags, Over, STREAMS, Strict, installed, require};
use super::{reference, values};

/// Compares UDP without a rate with iperf3 and with plain loops
#[derive(Debug, Args)]
#[command(mut_arg("over", |over| over.default_value("lo")))]
pub(super) struct Datagrams {
    #[command(flatten)]
    over: Over,
    /// Bytes of payload
    #[arg(long, value_name = "N,..", value_delimiter = ',', default_values_t = [1460, 64], value_parser = clap::value_parser!(u32).range(16..=65_507))]
    lengths: Vec<u32>,
    #[command(flatten)]
    strict: Strict,
}

impl Bench for Datagrams {
    /// Ours first, each datagram on its own, then ours in pieces, then the others.
    fn candidates(&self, flags: &Flags) -> Result<Vec<Candidate>> {
        require(&["taskset"])?;
        let iperf3 = installed("iperf3")?;
        let ours = flags.candidate()?;
        let plain = reference::program("datagrams")?;
        let loops = [
            Candidate::new(plain.clone(), Reference).with_name("plain C loop", "0"),
            Candidate::new(plain, Best).with_name("plain C loop, pieces", "1"),
        ];
        let peers = flags.peers(&STREAMS)?.into_iter();
        let peers = peers.flat_map(|one| one.in_all_ways(&Workload::datagrams(1460)));
        let ours = [ours.clone().with("--engine sendmmsg,recvmmsg"), ours.variant(PIECES), iperf3];
        Ok(ours.into_iter().chain(peers).chain(loops).map(Candidate::pinned).collect())
    }

    fn jobs(&self) -> Vec<Job> {
        self.over.jobs(self.lengths.iter().map(|&length| Workload::datagrams(length)))
    }

    fn report(&self, comparison: &Comparison, rows: &[JobRow<Job>]) -> String {
        let section = |bytes: &u32| {
            let rows = rows.iter().filter(|row| length(&row.job) == *bytes).cloned();
            let tables = values::report(comparison, &rows.collect::<Vec<_>>());
            format!("## Datagrams of {bytes} bytes\n\n{tables}\n")
        };
        self.lengths.iter().map(section).collect()
    }

    fn verdict(&self, rows: &[JobRow<Job>]) -> Result<String> {
        let name = |job: &Job| format!("{} bytes over {}: ", length(job), job.path);
        self.strict.verdict(&PROMISES, rows, name)
    }
}

fn length(job: &Job) -> u32 {
    job.workload.length.unwrap_or_default()
}

fn is_long(job: &Job) -> bool {
    length(job) >= 1000
}

fn is_short(job: &Job) -> bool {
    !is_long(job)
}

const PROMISES: [Promise<Job>; 5] = [
    Promise::new("rate >= 1.25 x iperf3", is_long, Ratio(Ours, Installed, Rate)),
    Promise::new("in pieces: rate >= 24 x iperf3", is_long, Ratio(Variant, Installed, Rate)),
    Promise::new("rate >= 1.15 x iperf3", is_short, Ratio(Ours, Installed, Rate)),
    Promise::new("in pieces: rate >= 100 x iperf3", is_short, Ratio(Variant, Installed, Rate)),
    Promise::new("in pieces: rate >= 0.95 x the plain loop", |_| true, Ratio(Variant, Best, Rate)),
];

/// Engines that move many datagrams in one piece.
pub(super) const PIECES: &str = "--engine gso,gro";
