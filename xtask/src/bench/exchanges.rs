//! `bench exchanges`: request and response, one at a time, beside the peers.
//!
//! The sizes are the same for all; what differs is how each program waits, which is what is
//! compared.

use std::fmt::Write;

use anyhow::{Result, ensure};
use clap::Args;
use testbed::candidate::Candidate;
use testbed::comparison::{Comparison, Job};
use testbed::environment::Environment;
use testbed::figures::Metric;
use testbed::markdown::{Align, Table};
use testbed::output::say;
use testbed::rounds::{self, Entry, Part, Row};
use testbed::spread::Spread;
use testbed::table::{Cell, Column, Layout, range};
use testbed::topology;
use testbed::workload::{Exchange, Workload};

use super::flags::{EXCHANGES, Flags, Over, installed};
use crate::packages;
use crate::workspace::Workspace;

/// Compares request/response and connect/request/response with sockperf, iperf and peers
#[derive(Debug, Args)]
pub(super) struct Exchanges {
    #[command(flatten)]
    flags: Flags,
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

impl Exchanges {
    pub(super) fn run(self) -> Result<String> {
        packages::provide(&packages::EXCHANGERS)?;
        let candidates = self.candidates()?;
        // Before the first thread, as it asks.
        topology::prepare()?;
        let head = self.head(&candidates)?;
        say(&head);
        let (rounds, seconds) = (self.flags.rounds, self.flags.time);
        let comparison = Comparison {
            rounds,
            seconds,
            congestion: None,
            candidates,
            show: |row| say(shown(row)),
        };
        let workloads = self.only.iter().map(|&what| Workload::exchange(what, self.size));
        let rows = rounds::run(&comparison, &Job::each(workloads, &self.over.over))?;
        self.flags.publish(&format!("{head}\n{}", report(&rows)))?;
        verdict(&rows)
    }

    /// Ours first, then the installed peers, then those that were named.
    fn candidates(&self) -> Result<Vec<Candidate>> {
        let mut candidates = Vec::new();
        if !self.peers_only {
            candidates.push(self.flags.candidate(&Workspace::find()?)?);
        }
        for name in ["sockperf", "iperf"] {
            candidates.push(installed(name)?);
        }
        candidates.extend(self.flags.peers(&EXCHANGES)?);
        Ok(candidates)
    }

    /// Programs, machine and rules.
    fn head(&self, candidates: &[Candidate]) -> Result<String> {
        let names: Vec<&str> = candidates.iter().map(|one| one.name.as_str()).collect();
        let (Self { size, .. }, Flags { rounds, time, .. }) = (self, &self.flags);
        let mut lines = vec![format!("Programs: {}", names.join(", "))];
        lines.extend(Environment::read(&self.over.over)?.lines());
        lines.push(format!(
            "One request of {size} B at a time, answered by {size} B; connect: with a connection \
             each"
        ));
        lines.push(format!(
            "Medians of {rounds} rounds of {time} s; in every round each program once, in turn, \
             not pinned. A ratio is of linerate to the best peer, the median of the ratios within \
             a round, with the least and the most of them"
        ));
        lines.extend(self.date.clone());
        Ok(format!("# Exchanges: linerate beside its peers\n\n- {}.\n", lines.join(".\n- ")))
    }
}

fn verdict(rows: &[Row<Job>]) -> Result<String> {
    let has_run = |row: &Row<Job>| row.entries.iter().any(|one| one.median(Metric::Rate).is_some());
    ensure!(rows.iter().any(has_run), "exchanges: nobody ran");
    let compared: Vec<_> = rows.iter().filter_map(comparison).collect();
    let ahead = compared.iter().filter(|(.., rate)| rate.median >= 1.0).count();
    Ok(format!(
        "exchanges: linerate makes at least as many as the best peer in {ahead} of {} rows",
        compared.len()
    ))
}

/// Ours, the peer that made most, and the ratio of ours to it.
fn comparison(row: &Row<Job>) -> Option<(&Entry, &Entry, Spread)> {
    let (ours, best) = (row.entry(Part::Ours)?, row.fastest(&[Part::Peer])?);
    Some((ours, best, ours.over(best, Metric::Rate)?))
}

/// A line for each program in each row, then the ratios.
fn report(rows: &[Row<Job>]) -> String {
    let keys = ["exchange", "over", "linerate to"].map(|head| (head, Align::Left));
    let heads = ["per second", "p50", "p99", "CPU, both"].map(|head| (head, Align::Right));
    let mut ratios = Table::new(keys.into_iter().chain(heads));
    for row in rows {
        let Some((ours, best, _)) = comparison(row) else { continue };
        let metrics = [Metric::Rate, Metric::P50, Metric::P99, Metric::Cpu];
        let cells = metrics.map(|metric| {
            ours.over(best, metric).map_or_else(|| MISSING.to_owned(), |ratio| range(&ratio))
        });
        let program = best.program.clone();
        ratios.push((LAYOUT.key)(&row.job).into_iter().chain([program]).chain(cells));
    }
    format!("{}\n{ratios}", LAYOUT.values(rows, &COLUMNS))
}

/// What a row gave, for the terminal.
fn shown(row: &Row<Job>) -> String {
    let mut text = format!("{}\n", row.job);
    for entry in &row.entries {
        let [rate, mean, p50, p99] =
            [0, 1, 2, 3].map(|column: usize| COLUMNS[column].cell.text(entry, MISSING));
        let cpu = Cell::Number(Metric::Cpu, 1e6, 1).text(entry, MISSING);
        let figures = match &entry.outcome {
            Ok(_) => {
                format!("{rate:>9}/s, mean {mean} us, p50 {p50}, p99 {p99}, CPU {cpu} us each")
            }
            Err(reason) => format!("not run: {reason}"),
        };
        // Writing to a String does not fail.
        _ = writeln!(text, "  {:<28} {figures}", entry.program);
    }
    if let Some((_, best, rate)) = comparison(row) {
        _ = writeln!(text, "  linerate / {}: {}", best.program, range(&rate));
    }
    text
}

const MISSING: &str = "-";

const LAYOUT: Layout<'static, Job> = Layout {
    keys: &[("exchange", Align::Left), ("over", Align::Left)],
    key: |job| vec![job.workload.to_string(), job.path.to_string()],
    missing: MISSING,
};

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
        let row = Row { job, entries };
        assert!(shown(&row).starts_with("tcp over lo\n  linerate 1 "));
        assert!(shown(&row).contains("  linerate / sockperf 3: 1.25 (1.25..1.25)\n"));
        let text = report(&[row]);
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
