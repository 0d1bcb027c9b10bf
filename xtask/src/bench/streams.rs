//! `bench streams`: the same work over one stream and over thousands.

use anyhow::Result;
use clap::Args;
use testbed::candidate::Candidate;
use testbed::comparison::{Comparison, Job, congestion};
use testbed::figures::Metric;
use testbed::program::{Installed, Plain};
use testbed::promise::{self, Limit, Promise};
use testbed::rounds::{self, Part, Row};
use testbed::topology;
use testbed::workload::Workload;

use super::flags::{Flags, Over, STREAMS, Strict, installed};
use super::{reference, values};
use crate::workspace::Workspace;

/// Compares many streams with iperf3 and with a plain loop, over lo and a veth pair
#[derive(Debug, Args)]
#[command(mut_arg("time", |time| time.default_value("5")))]
pub(super) struct Streams {
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    over: Over,
    /// Numbers of streams
    #[arg(long, value_name = "N,..", value_delimiter = ',', default_values_t = [1, 16, 128, 10_000], value_parser = clap::value_parser!(u32).range(1..=20_000))]
    counts: Vec<u32>,
    #[command(flatten)]
    strict: Strict,
}

impl Streams {
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

    /// Ours first, then the installed iperf3, the peers and the plain loop.
    fn candidates(&self) -> Result<Vec<Candidate>> {
        let (iperf3, workspace) = (installed("iperf3")?, Workspace::find()?);
        let mut candidates = vec![self.flags.candidate(&workspace)?, iperf3];
        candidates.extend(self.flags.peers(&STREAMS)?);
        let plain = Installed::known(&Plain, reference::build(&workspace, "streams")?);
        candidates.push(Candidate::new(plain, Part::Reference));
        Ok(candidates)
    }
}

const PROMISES: [Promise<Job>; 8] = [
    Promise {
        text: "rate >= 1.10 x iperf3",
        // As many as iperf3 takes.
        applies: |job| (2..=128).contains(&job.workload.streams),
        value: |row| row.ratio(Part::Ours, Part::Installed, Metric::Rate),
        limit: Limit::AtLeast(1.10),
    },
    Promise {
        text: "rate >= 0.95 x the plain loop",
        applies: is_crowd,
        value: |row| row.ratio(Part::Ours, Part::Reference, Metric::Rate),
        limit: Limit::AtLeast(0.95),
    },
    Promise {
        text: "Jain's index >= 0.95",
        applies: is_crowd,
        value: |row| row.entry(Part::Ours)?.median(Metric::Jain),
        limit: Limit::AtLeast(0.95),
    },
    Promise {
        text: "streams without progress = 0",
        applies: is_crowd,
        value: |row| row.entry(Part::Ours)?.most(Metric::WithoutProgress),
        limit: Limit::AtMost(0.0),
    },
    Promise {
        text: "peak MB of a side <= 80",
        applies: is_crowd,
        value: larger_memory,
        limit: Limit::AtMost(80.0),
    },
    Promise {
        text: "start skew <= 50 ms",
        applies: is_crowd,
        value: |row| Some(row.entry(Part::Ours)?.median(Metric::StartSkew)? * 1e3),
        limit: Limit::AtMost(50.0),
    },
    Promise {
        text: "stop skew <= 20 ms",
        applies: is_crowd,
        value: |row| Some(row.entry(Part::Ours)?.median(Metric::StopSkew)? * 1e3),
        limit: Limit::AtMost(20.0),
    },
    Promise {
        text: "% off the interface's bytes <= 2",
        applies: |_| true,
        // Bytes are counted, not sampled: no round is excused.
        value: |row| row.entry(Part::Ours)?.most(Metric::Excess),
        limit: Limit::AtMost(2.0),
    },
];

fn is_crowd(job: &Job) -> bool {
    job.workload.streams > 128
}

fn larger_memory(row: &Row<Job>) -> Option<f64> {
    let ours = row.entry(Part::Ours)?;
    let (client, server) = (ours.median(Metric::ClientMemory)?, ours.median(Metric::ServerMemory)?);
    Some(client.max(server) / 1e6)
}

#[cfg(test)]
mod tests {
    use testbed::figures::Figures;
    use testbed::rounds::Entry;
    use testbed::topology::Path;

    use super::*;

    fn entry(part: Part, figures: &[(Metric, f64)]) -> Entry {
        let figures: Figures = figures.iter().copied().collect();
        Entry { outcome: Ok(vec![figures]), ..Entry::new("", part) }
    }

    fn lines(streams: u32, entries: Vec<Entry>) -> Vec<String> {
        let job = Job { workload: Workload::tcp(streams), path: Path::Loopback };
        let outcomes = promise::check(&PROMISES, &[Row { job, entries }], values::name);
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

    #[test]
    fn what_did_not_run_kept_nothing() {
        let ours = Entry { outcome: Err("no".to_owned()), ..Entry::new("", Part::Ours) };
        let missed = lines(10_000, vec![ours, entry(Part::Reference, &[(Metric::Rate, 39.0)])]);
        assert!(missed.iter().all(|line| line.ends_with("not measured")), "{missed:?}");
    }
}
