//! `bench exchanges`: request and response, one at a time, beside the peers.
//!
//! The sizes are the same for all; what differs is how each program waits, which is what is
//! compared.

use anyhow::{Result, ensure};
use clap::Args;
use testbed::candidate::Candidate;
use testbed::comparison::{Comparison, Job};
use testbed::figures::Metric;
use testbed::markdown::{Align, Table};
use testbed::output::say;
use testbed::promise::{self, Promise, Value};
use testbed::rounds::{Entry, JobRow};
use testbed::table::{Cell, Column, Layout};
use testbed::workload::{Exchange, Workload};

use super::compared::Bench;
use super::flags::{EXCHANGES, Flags, Over, installed};
use super::peers;
use crate::packages;

/// Compares request/response and connect/request/response with sockperf, iperf and peers
#[derive(Debug, Args)]
pub(super) struct Exchanges {
    #[command(flatten)]
    over: Over,
    /// What is exchanged
    #[arg(long, value_name = "WHAT,..", value_delimiter = ',', default_values_t = [Exchange::Tcp, Exchange::Udp, Exchange::Connect])]
    only: Vec<Exchange>,
    /// Bytes of a request and of a response
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = clap::value_parser!(u32).range(16..=1400))]
    size: u32,
    /// Leave linerate out
    #[arg(long)]
    peers_only: bool,
    /// A date to put at the head of the table
    #[arg(long, value_name = "DATE")]
    date: Option<String>,
}

impl Bench for Exchanges {
    const SHOW: fn(&JobRow<Job>) = |row| say(shown(row));

    /// Ours first, then the installed peers, then those that were named.
    fn candidates(&self, flags: &Flags) -> Result<Vec<Candidate>> {
        packages::provide(&packages::EXCHANGERS)?;
        let mut candidates = Vec::new();
        if !self.peers_only {
            candidates.push(flags.candidate()?);
        }
        for name in ["sockperf", "iperf"] {
            candidates.push(installed(name)?);
        }
        candidates.extend(flags.peers(&EXCHANGES)?);
        Ok(candidates)
    }

    fn jobs(&self) -> Vec<Job> {
        self.over.jobs(self.only.iter().map(|&what| Workload::exchange(what, self.size)))
    }

    fn head(&self, comparison: &Comparison) -> Result<String> {
        let (Self { size, .. }, Comparison { rounds, seconds, .. }) = (self, comparison);
        let rules = [
            format!(
                "One request of {size} B at a time, answered by {size} B; connect: with a \
                 connection each"
            ),
            format!(
                "Medians of {rounds} rounds of {seconds} s; in every round each program once, in \
                 turn, not pinned. A ratio is of linerate to the best peer, the median of the \
                 ratios within a round, with the least and the most of them"
            ),
        ];
        let rules = rules.into_iter().chain(self.date.clone());
        let title = "Exchanges: linerate beside its peers";
        peers::head(title, comparison, &self.over.over, rules)
    }

    fn report(&self, _comparison: &Comparison, rows: &[JobRow<Job>]) -> String {
        format!("\n{}\n{}", LAYOUT.values(rows, &COLUMNS), ratios(rows))
    }

    fn verdict(&self, rows: &[JobRow<Job>]) -> Result<String> {
        let mut entries = rows.iter().flat_map(|row| &row.entries);
        let has_run = entries.any(|entry| entry.median(Metric::Rate).is_some());
        ensure!(has_run, "exchanges: nobody ran");
        promise::check(&PROMISES, rows, |job| format!("{job}: ")).iter().for_each(say);
        let ahead = peers::ahead(rows.iter().filter_map(peers::usual));
        Ok(format!("exchanges: linerate makes at least as many as the best peer in {ahead}"))
    }
}

/// The promise `exchanges`: as often as the best peer, but for the noise of a median.
const PROMISES: [Promise<Job>; 1] = [Promise::new(
    "rate >= 0.95 x the best peer",
    |_| true,
    Value::Other(|row| Some(peers::usual(row)?.rate.median)),
)];

/// Ratios of ours to the peer that made most.
fn ratios(rows: &[JobRow<Job>]) -> Table {
    let best = |row| peers::usual(row).map(|pair| pair.theirs).into_iter().collect();
    LAYOUT.ratios("linerate to", best, rows, &RATIOS)
}

/// What a row gave, for the terminal.
fn shown(row: &JobRow<Job>) -> String {
    let figures = |entry: &Entry| {
        let [rate, mean, p50, p99] =
            [0, 1, 2, 3].map(|column: usize| COLUMNS[column].cell.text(entry, MISSING));
        let cpu = Cell::Number(Metric::Cpu, 1e6, 1).text(entry, MISSING);
        format!("{rate:>9}/s, mean {mean} us, p50 {p50}, p99 {p99}, CPU {cpu} us each")
    };
    let ratio =
        peers::usual(row).map(|pair| (format!("linerate / {}", pair.theirs.program), pair.rate));
    peers::lines(row, 28, figures, ratio)
}

const MISSING: &str = "-";

const LAYOUT: Layout<'static, Job> = Layout {
    keys: &[("exchange", Align::Left), ("over", Align::Left)],
    key: |job| vec![job.workload.to_string(), job.path.to_string()],
    missing: MISSING,
};

const RATIOS: [(&str, Metric); 4] = [
    ("per second", Metric::Rate),
    ("p50", Metric::P50),
    ("p99", Metric::P99),
    ("CPU, both", Metric::Cpu),
];

const COLUMNS: [Column; 5] = [
    Column { head: "per second", cell: Cell::Number(Metric::Rate, 1.0, 0) },
    Column { head: "mean us", cell: Cell::Number(Metric::Mean, 1e6, 1) },
    Column { head: "p50 us", cell: Cell::Number(Metric::P50, 1e6, 1) },
    Column { head: "p99 us", cell: Cell::Number(Metric::P99, 1e6, 1) },
    Column {
        head: "CPU us each, client + server",
        cell: Cell::Pair(Metric::ClientCpu, Metric::ServerCpu, 1e6, 1),
    },
];

#[cfg(test)]
mod tests {
    use testbed::candidate::Part;
    use testbed::figures::Figures;
    use testbed::program::Report;
    use testbed::run;
    use testbed::topology::Path;

    use super::*;

    fn entry(program: &str, part: Part, rate: f64, p99: Option<f64>) -> Entry {
        let mut figures = Figures::from_iter([(Metric::Mean, 2e-6), (Metric::P50, 1.5e-6)]);
        figures.push(Metric::P99, p99.map(|microseconds| microseconds / 1e6));
        let report = Report { count: rate, rate, ..Report::default() };
        figures.extend(run::usage(&report, 0.5, 0.25));
        Entry { outcome: Ok(vec![figures; 2]), ..Entry::new(program, part) }
    }

    #[test]
    fn values_and_ratios_are_lines() {
        let mut refused = entry("netperf", Part::Peer, 1.0, None);
        refused.outcome = Err("no netserver".to_owned());
        let entries = vec![
            entry("linerate 1", Part::Ours, 50_000.0, Some(3.0)),
            entry("sockperf 3", Part::Peer, 40_000.0, Some(2.0)),
            entry("iperf 2", Part::Peer, 20_000.0, None),
            refused,
        ];
        let job = Job { workload: Workload::exchange(Exchange::Tcp, 64), path: Path::Loopback };
        let row = JobRow { job, entries };
        assert!(shown(&row).starts_with("tcp over lo\n  linerate 1 "));
        assert!(shown(&row).contains("  linerate / sockperf 3: 1.25 (1.25..1.25)\n"));
        let rows = [row];
        let text = format!("{}\n{}", LAYOUT.values(&rows, &COLUMNS), ratios(&rows));
        for line in [
            "| exchange | over | program | per second | mean us | p50 us | p99 us \
             | CPU us each, client + server |",
            "|---|---|---|--:|--:|--:|--:|--:|",
            "| tcp | lo | linerate 1 | 50000 | 2.0 | 1.5 | 3.0 | 10.0 + 5.0 |",
            "| tcp | lo | iperf 2 | 20000 | 2.0 | 1.5 | - | 25.0 + 12.5 |",
            "| tcp | lo | netperf | not run: no netserver |",
            "| exchange | over | linerate to | per second | p50 | p99 | CPU, both |",
            "| tcp | lo | sockperf 3 | 1.25 (1.25..1.25) | 1.00 (1.00..1.00) | 1.50 (1.50..1.50) \
             | 0.80 (0.80..0.80) |",
        ] {
            assert!(text.lines().any(|one| one == line), "{line}\n{text}");
        }
    }
}
