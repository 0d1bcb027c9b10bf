//! The comparison as Markdown, and a row of it on the terminal.

use std::fmt::Write;

use super::contender::Contender;
use super::contest::{Contest, Entry, Row};
use super::figures::Metric;
use crate::bench::environment::Environment;
use crate::bench::spread::Spread;

/// Programs, machine and rules.
pub(super) fn head(
    contest: &Contest,
    contenders: &[Contender],
    environment: &Environment,
    date: Option<&str>,
) -> String {
    let names: Vec<&str> = contenders.iter().map(|one| one.name.as_str()).collect();
    let Contest { rounds, seconds, size } = contest;
    let mut lines = vec![format!("Programs: {}", names.join(", "))];
    lines.extend(environment.lines());
    lines.push(format!(
        "One request of {size} B at a time, answered by {size} B; connect: with a connection each"
    ));
    lines.push(format!(
        "Medians of {rounds} rounds of {seconds} s; in every round each program once, in turn, \
         not pinned. A ratio is of linerate to the best peer, the median of the ratios within a \
         round, with the least and the most of them"
    ));
    lines.extend(date.map(str::to_owned));
    format!("# Exchanges: linerate beside its peers\n\n- {}.\n", lines.join(".\n- "))
}

/// A line for each program in each row, then the ratios, then who did not run.
pub(super) fn of(rows: &[Row]) -> String {
    let mut text = VALUES.to_owned();
    for row in rows {
        for entry in &row.entries {
            line(&mut text, row, &entry.program, &values(entry));
        }
    }
    text.push_str(RATIOS);
    for row in rows {
        if let Some((best, rate)) = row.comparison() {
            line(&mut text, row, &best.program, &ratios(row, best, &rate));
        }
    }
    text
}

/// What a row gave, for the terminal.
pub(super) fn shown(row: &Row) -> String {
    let mut text = format!("{} over {}\n", row.exchange, row.route);
    for entry in &row.entries {
        let figures = match &entry.outcome {
            Ok(_) => format!(
                "{:>9}/s, mean {} us, p50 {}, p99 {}, CPU {} us each",
                number(entry, Metric::Rate, 0),
                number(entry, Metric::Mean, 1),
                number(entry, Metric::P50, 1),
                number(entry, Metric::P99, 1),
                number(entry, Metric::Cpu, 1),
            ),
            Err(reason) => format!("not run: {reason}"),
        };
        // Writing to a String does not fail.
        _ = writeln!(text, "  {:<28} {figures}", entry.program);
    }
    if let Some((best, rate)) = row.comparison() {
        _ = writeln!(text, "  linerate / {}: {}", best.program, ratio(&rate));
    }
    text
}

const VALUES: &str = "\
| exchange | over | program | per second | mean us | p50 us | p99 us \
| CPU us each, client + server |
|---|---|---|--:|--:|--:|--:|--:|
";

const RATIOS: &str = "
| exchange | over | linerate to | per second | p50 | p99 | CPU, both |
|---|---|---|--:|--:|--:|--:|
";

fn values(entry: &Entry) -> Vec<String> {
    if let Err(reason) = &entry.outcome {
        return vec![format!("not run: {reason}")];
    }
    let (client, server) =
        (number(entry, Metric::ClientCpu, 1), number(entry, Metric::ServerCpu, 1));
    vec![
        number(entry, Metric::Rate, 0),
        number(entry, Metric::Mean, 1),
        number(entry, Metric::P50, 1),
        number(entry, Metric::P99, 1),
        format!("{client} + {server}"),
    ]
}

fn ratios(row: &Row, best: &Entry, rate: &Spread) -> Vec<String> {
    let ours = row.entries.iter().find(|entry| entry.is_ours);
    let of = |metric| {
        let ratios = Spread::of_ratios(&ours?.of(metric), &best.of(metric));
        ratios.map(|spread| ratio(&spread))
    };
    let others = [Metric::P50, Metric::P99, Metric::Cpu].map(of);
    let others = others.map(|cell| cell.unwrap_or_else(nothing));
    std::iter::once(ratio(rate)).chain(others).collect()
}

fn number(entry: &Entry, metric: Metric, digits: usize) -> String {
    entry.median(metric).map_or_else(nothing, |median| format!("{median:.digits$}"))
}

fn ratio(spread: &Spread) -> String {
    format!("{:.2} ({:.2}..{:.2})", spread.median, spread.least, spread.most)
}

/// What a program does not tell.
fn nothing() -> String {
    "-".to_owned()
}

fn line(text: &mut String, row: &Row, program: &str, cells: &[String]) {
    let (exchange, route) = (row.exchange, row.route);
    _ = writeln!(text, "| {exchange} | {route} | {program} | {} |", cells.join(" | "));
}

#[cfg(test)]
mod tests {
    use super::super::contender::Exchange;
    use super::super::figures::{Figures, Told};
    use super::*;
    use crate::bench::streams::Route;

    fn entry(program: &str, is_ours: bool, rate: f64, p99: Option<f64>) -> Entry {
        let told = Told { count: rate, rate, mean: Some(2.0), p50: Some(1.5), p99 };
        let figures = Figures { told, client_cpu: 0.5, server_cpu: 0.25 };
        Entry { program: program.to_owned(), is_ours, outcome: Ok(vec![figures; 2]) }
    }

    #[test]
    fn values_and_ratios_are_lines() {
        let mut refused = entry("netperf", false, 1.0, None);
        refused.outcome = Err("no netserver".to_owned());
        let entries = vec![
            entry("linerate 1", true, 50_000.0, Some(3.0)),
            entry("sockperf 3", false, 40_000.0, Some(2.0)),
            entry("iperf 2", false, 20_000.0, None),
            refused,
        ];
        let row = Row { exchange: Exchange::Tcp, route: Route::Lo, entries };
        assert!(shown(&row).contains("  linerate / sockperf 3: 1.25 (1.25..1.25)\n"));
        let text = of(&[row]);
        for line in [
            "| tcp | lo | linerate 1 | 50000 | 2.0 | 1.5 | 3.0 | 10.0 + 5.0 |",
            "| tcp | lo | iperf 2 | 20000 | 2.0 | 1.5 | - | 25.0 + 12.5 |",
            "| tcp | lo | netperf | not run: no netserver |",
            "| tcp | lo | sockperf 3 | 1.25 (1.25..1.25) | 1.00 (1.00..1.00) | 1.50 (1.50..1.50) \
             | 0.80 (0.80..0.80) |",
        ] {
            assert!(text.lines().any(|one| one == line), "{line}\n{text}");
        }
    }
}
