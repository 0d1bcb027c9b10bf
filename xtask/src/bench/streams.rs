//! `bench streams`: the same work over one stream and over thousands.

use anyhow::Result;
use clap::Args;
use testbed::candidate::Candidate;
use testbed::candidate::Part::{Installed, Ours, Reference};
use testbed::comparison::Job;
use testbed::figures::Metric;
use testbed::promise::Promise;
use testbed::promise::Value::{Median, Most, Other, Ratio};
use testbed::rounds::JobRow;
use testbed::workload::Workload;

use super::compared::{Bench, Congestion};
use super::flags::{Flags, Over, STREAMS, Strict, installed};
use super::{reference, values};

/// Compares many streams with iperf3 and with a plain loop, over lo and a veth pair
#[derive(Debug, Args)]
#[command(mut_arg("time", |time| time.default_value("5")))]
pub(super) struct Streams {
    #[command(flatten)]
    over: Over,
    /// Numbers of streams
    #[arg(long, value_name = "N,..", value_delimiter = ',', default_values_t = [1, 16, 128, 10_000], value_parser = clap::value_parser!(u32).range(1..=20_000))]
    counts: Vec<u32>,
    #[command(flatten)]
    strict: Strict,
}

impl Bench for Streams {
    const CONGESTION: Congestion = Congestion::Common;

    /// Ours first, then the installed iperf3, the peers and the plain loop.
    fn candidates(&self, flags: &Flags) -> Result<Vec<Candidate>> {
        let iperf3 = installed("iperf3")?;
        let mut candidates = vec![flags.candidate()?, iperf3];
        candidates.extend(flags.peers(&STREAMS)?);
        candidates.push(Candidate::new(reference::program("streams")?, Reference));
        Ok(candidates)
    }

    fn jobs(&self) -> Vec<Job> {
        self.over.jobs(self.counts.iter().map(|&streams| Workload::tcp(streams)))
    }

    fn verdict(&self, rows: &[JobRow<Job>]) -> Result<String> {
        self.strict.verdict(&PROMISES, rows, values::name)
    }
}

const PROMISES: [Promise<Job>; 8] = [
    Promise::new("rate >= 1.10 x iperf3", is_group, Ratio(Ours, Installed, Metric::Rate)),
    Promise::new("rate >= 0.95 x the plain loop", is_crowd, Ratio(Ours, Reference, Metric::Rate)),
    Promise::new("Jain's index >= 0.95", is_crowd, Median(Metric::Jain, 1.0)),
    Promise::new("streams without progress = 0", is_crowd, Most(Metric::WithoutProgress)),
    Promise::new("peak MB of a side <= 80", is_crowd, Other(larger_memory)),
    Promise::new("start skew <= 50 ms", is_crowd, Median(Metric::StartSkew, 1e3)),
    Promise::new("stop skew <= 20 ms", is_crowd, Median(Metric::StopSkew, 1e3)),
    // Bytes are counted, not sampled: no round is excused.
    Promise::new("% off the interface's bytes <= 2", |_| true, Most(Metric::Excess)),
];

/// As many as iperf3 takes.
fn is_group(job: &Job) -> bool {
    (2..=128).contains(&job.workload.streams)
}

fn is_crowd(job: &Job) -> bool {
    job.workload.streams > 128
}

fn larger_memory(row: &JobRow<Job>) -> Option<f64> {
    let ours = row.entry(Ours)?;
    let (client, server) = (ours.median(Metric::ClientMemory)?, ours.median(Metric::ServerMemory)?);
    Some(client.max(server) / 1e6)
}

#[cfg(test)]
mod tests {
    use testbed::candidate::Part;
    use testbed::figures::Figures;
    use testbed::promise;
    use testbed::rounds::Entry;
    use testbed::topology::Path;

    use super::*;

    fn entry(part: Part, figures: &[(Metric, f64)]) -> Entry {
        let figures: Figures = figures.iter().copied().collect();
        Entry { outcome: Ok(vec![figures]), ..Entry::new("", part) }
    }

    fn lines(streams: u32, entries: Vec<Entry>) -> Vec<String> {
        let job = Job { workload: Workload::tcp(streams), path: Path::Loopback };
        let outcomes = promise::check(&PROMISES, &[JobRow { job, entries }], values::name);
        outcomes.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn some_streams_are_judged_by_iperf3() {
        let theirs = || entry(Part::Installed, &[(Metric::Rate, 40.0)]);
        let ours =
            |rate, excess| entry(Part::Ours, &[(Metric::Rate, rate), (Metric::Excess, excess)]);
        let kept = [
            "kept: 16 streams over lo: rate >= 1.10 x iperf3: 1.25",
            "kept: 16 streams over lo: % off the interface's bytes <= 2: 1.00",
        ];
        assert_eq!(lines(16, vec![ours(50.0, -1.0), theirs()]), kept);
        let missed = lines(16, vec![ours(43.0, -3.0), theirs()]);
        assert!(missed.iter().all(|line| line.starts_with("MISSED")), "{missed:?}");
        assert_eq!(lines(1, vec![ours(43.0, -1.0)]).len(), 1);
    }

    #[test]
    fn thousands_are_judged_by_the_plain_loop() {
        let ours = |scale: f64| {
            let figures = [
                (Metric::Rate, 38.0 / scale),
                (Metric::Excess, 1.0 * scale),
                (Metric::Jain, 0.96 / scale),
                (Metric::WithoutProgress, scale - 1.0),
                (Metric::ClientMemory, 10e6),
                (Metric::ServerMemory, 70e6 * scale),
                (Metric::StartSkew, 0.040 * scale),
                (Metric::StopSkew, 0.015 * scale),
            ];
            vec![entry(Part::Ours, &figures), entry(Part::Reference, &[(Metric::Rate, 39.0)])]
        };
        let kept = lines(10_000, ours(1.0));
        assert_eq!(kept.len(), 7);
        assert!(kept.iter().all(|line| line.starts_with("kept")), "{kept:?}");
        let missed = lines(10_000, ours(3.0));
        assert!(missed.iter().all(|line| line.starts_with("MISSED")), "{missed:?}");
    }
}
