//! `bench engines`: every engine of TCP beside iperf3's.

use anyhow::Result;
use clap::Args;
use testbed::candidate::Candidate;
use testbed::candidate::Part::{Installed, Ours};
use testbed::comparison::Job;
use testbed::figures::Metric::{Cpu, Rate};
use testbed::promise::Promise;
use testbed::promise::Value::{Other, Ratio};
use testbed::rounds::JobRow;
use testbed::topology::Path;
use testbed::workload::Workload;

use super::compared::{Bench, Congestion};
use super::flags::{Flags, Over, STREAMS, Strict, installed};
use super::{peers, values};

/// Compares the engines of TCP with each other and with iperf3's
#[derive(Debug, Args)]
pub(super) struct Engines {
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

impl Bench for Engines {
    const CONGESTION: Congestion = Congestion::Common;

    /// Ours by the usual engines first, then by the others, then iperf3 and the peers, each with
    /// its own ways.
    fn candidates(&self, flags: &Flags) -> Result<Vec<Candidate>> {
        let iperf3 = installed("iperf3")?;
        let ours = flags.candidate()?;
        let variants = self.engine.iter().map(|names| ours.variant(&format!("--engine {names}")));
        let mut candidates: Vec<_> = variants.collect();
        candidates.insert(0, ours);
        let others = [iperf3].into_iter().chain(flags.peers(&STREAMS)?);
        candidates.extend(others.flat_map(|one| one.in_all_ways(&Workload::tcp(1))));
        Ok(candidates)
    }

    fn jobs(&self) -> Vec<Job> {
        self.over.jobs(self.counts.iter().map(|&streams| Workload::tcp(streams)))
    }

    fn verdict(&self, rows: &[JobRow<Job>]) -> Result<String> {
        self.strict.verdict(&PROMISES, rows, values::name)
    }
}

/// The usual engines against iperf3's, and the fastest of all against the fastest of others.
const PROMISES: [Promise<Job>; 5] = [
    Promise::new(
        "usual engines: rate >= 1.25 x iperf3",
        |job| job.path == Path::Loopback,
        Ratio(Ours, Installed, Rate),
    ),
    Promise::new(
        "usual engines: rate >= 1.10 x iperf3",
        |job| job.path == Path::Veth,
        Ratio(Ours, Installed, Rate),
    ),
    Promise::new(
        "usual engines: CPU for each GB <= 0.70 x iperf3",
        |_| true,
        Ratio(Ours, Installed, Cpu),
    ),
    Promise::new(
        "fastest: rate >= 1.40 x the fastest iperf3",
        |job| job.path == Path::Loopback,
        Other(fastest_over_fastest),
    ),
    Promise::new(
        "fastest: rate >= 1.15 x the fastest iperf3",
        |job| job.path == Path::Veth,
        Other(fastest_over_fastest),
    ),
];

fn fastest_over_fastest(row: &JobRow<Job>) -> Option<f64> {
    Some(peers::best(row)?.rate.median)
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
