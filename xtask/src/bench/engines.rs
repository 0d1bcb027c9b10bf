//! `bench engines`: every engine of TCP beside iperf3's.

use anyhow::Result;
use clap::Args;
use testbed::candidate::Candidate;
use testbed::comparison::{Comparison, Job, congestion};
use testbed::figures::Metric;
use testbed::promise::{self, Limit, Promise};
use testbed::rounds::{self, Part, Row};
use testbed::topology::{self, Path};
use testbed::workload::Workload;

use super::flags::{Flags, Over, STREAMS, Strict, installed};
use super::values;
use crate::workspace::Workspace;

/// Compares the engines of TCP with each other and with iperf3's
#[derive(Debug, Args)]
pub(super) struct Engines {
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    over: Over,
    /// Numbers of streams
    #[arg(long, value_name = "N,..", value_delimiter = ',', default_values_t = [1], value_parser = clap::value_parser!(u32).range(1..=128))]
    counts: Vec<u32>,
    /// Engines beside the usual ones, as for `linerate test --engine`
    #[arg(long, value_name = "NAMES", default_values = ENGINES)]
    engine: Vec<String>,
    #[command(flatten)]
    strict: Strict,
}

impl Engines {
    pub(super) fn run(self) -> Result<String> {
        let candidates = self.candidates()?;
        // Before the first thread, as it asks.
        topology::prepare()?;
        let comparison = Comparison {
            rounds: self.flags.rounds,
            seconds: self.flags.time,
            congestion: Some(congestion(&candidates)?),
            candidates,
            show: values::show,
        };
        let workloads = self.counts.iter().map(|&streams| Workload::tcp(streams));
        let rows = rounds::run(&comparison, &Job::each(workloads, &self.over.over))?;
        self.flags.publish(&values::report(&comparison, &rows))?;
        self.strict.verdict(&promise::check(&PROMISES, &rows, values::name))
    }

    /// Ours by the usual engines first, then by the others, then iperf3 and the peers, each with
    /// its own ways.
    fn candidates(&self) -> Result<Vec<Candidate>> {
        let iperf3 = installed("iperf3")?;
        let ours = self.flags.candidate(&Workspace::find()?)?;
        let variants = self.engine.iter().map(|names| ours.variant(&format!("--engine {names}")));
        let variants: Vec<_> = variants.collect();
        let others = std::iter::once(iperf3).chain(self.flags.peers(&STREAMS)?);
        let others = others.flat_map(|one| one.in_all_ways(&Workload::tcp(1)));
        Ok(std::iter::once(ours).chain(variants).chain(others).collect())
    }
}

/// The usual engines against iperf3's, and the fastest of all against the fastest of others.
const PROMISES: [Promise<Job>; 4] = [
    Promise {
        text: "usual engines: rate >= 1.15 x iperf3",
        applies: |_| true,
        value: |row| row.ratio(Part::Ours, Part::Installed, Metric::Rate),
        limit: Limit::AtLeast(1.15),
    },
    Promise {
        text: "usual engines: CPU for each GB <= 0.75 x iperf3",
        applies: |_| true,
        value: |row| row.ratio(Part::Ours, Part::Installed, Metric::Cpu),
        limit: Limit::AtMost(0.75),
    },
    Promise {
        text: "fastest: rate >= 1.40 x the fastest iperf3",
        applies: |job| job.path == Path::Loopback,
        value: fastest_over_fastest,
        limit: Limit::AtLeast(1.40),
    },
    Promise {
        text: "fastest: rate >= 1.15 x the fastest iperf3",
        applies: |job| job.path == Path::Veth,
        value: fastest_over_fastest,
        limit: Limit::AtLeast(1.15),
    },
];

fn fastest_over_fastest(row: &Row<Job>) -> Option<f64> {
    let ours = row.fastest(&[Part::Ours, Part::Variant])?;
    let theirs = row.fastest(&[Part::Installed, Part::Peer, Part::PeerVariant])?;
    Some(ours.over(theirs, Metric::Rate)?.median)
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
