//! The comparison as Markdown.

use std::fmt::Write;

use super::contest::Contest;
use super::series::{Metric, Runs, Series};
use super::spread::Spread;

/// Values first, ratios second.
pub(super) fn of(contest: &Contest, series: &[Series]) -> String {
    let mut text = heading(contest);
    text.push_str(VALUES);
    for series in series {
        for runs in &series.runs {
            line(&mut text, &values(series.row, runs));
        }
    }
    text.push_str(RATIOS);
    for series in series {
        let Some((ours, others)) = series.runs.split_first() else { continue };
        for theirs in others {
            line(&mut text, &ratios(series.row, ours, theirs));
        }
    }
    text
}

fn heading(contest: &Contest) -> String {
    format!(
        "Medians of {} rounds of {} s over loopback, programs in turn, not pinned, \
         congestion control {}.\n\n",
        contest.rounds, contest.seconds, contest.congestion
    )
}

const VALUES: &str = "\
| row | program | Gbit/s received | CPU s/GB client + server | peak MiB client + server | wall ms |
|---|---|--:|--:|--:|--:|
";

const RATIOS: &str = "
| row | ours over | Gbit/s | CPU s/GB, both | peak MiB, both | wall |
|---|---|--:|--:|--:|--:|
";

fn values(row: &str, runs: &Runs) -> [String; 6] {
    let pair = |client, server, digits| {
        let (client, server) = (median(runs, client, digits), median(runs, server, digits));
        if client.is_empty() { client } else { format!("{client} + {server}") }
    };
    [
        row.to_owned(),
        runs.program.clone(),
        median(runs, Metric::Rate, 2),
        pair(Metric::ClientCpu, Metric::ServerCpu, 3),
        pair(Metric::ClientMemory, Metric::ServerMemory, 1),
        median(runs, Metric::Wall, 1),
    ]
}

fn ratios(row: &str, ours: &Runs, theirs: &Runs) -> [String; 6] {
    let ratio = |metric| {
        let spread = Spread::of_ratios(ours.of(metric), theirs.of(metric));
        spread.map_or_else(String::new, |spread| {
            format!("{:.2} ({:.2}..{:.2})", spread.median, spread.least, spread.most)
        })
    };
    [
        row.to_owned(),
        theirs.program.clone(),
        ratio(Metric::Rate),
        ratio(Metric::BothCpu),
        ratio(Metric::BothMemory),
        ratio(Metric::Wall),
    ]
}

/// Empty if the row does not have the metric.
fn median(runs: &Runs, metric: Metric, digits: usize) -> String {
    let spread = Spread::of(runs.of(metric).iter().copied());
    spread.map_or_else(String::new, |spread| format!("{:.digits$}", spread.median))
}

fn line(text: &mut String, cells: &[String]) {
    // Writing to a String does not fail.
    _ = writeln!(text, "| {} |", cells.join(" | "));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(program: &str, rates: [f64; 2]) -> Runs {
        let values = vec![(Metric::Rate, rates.to_vec()), (Metric::Wall, vec![])];
        Runs { program: program.to_owned(), values }
    }

    #[test]
    fn values_and_ratios_are_lines_of_two_tables() {
        let contest = Contest { rounds: 2, seconds: 1, congestion: "cubic".to_owned() };
        let runs = vec![runs("linerate 1", [4.0, 6.0]), runs("iperf 3", [2.0, 2.0])];
        let text = of(&contest, &[Series { row: "TCP", runs }]);
        assert!(text.contains("\n| TCP | linerate 1 | 5.00 |  |  |  |\n"), "{text}");
        assert!(text.contains("\n| TCP | iperf 3 | 2.50 (2.00..3.00) |  |  |  |\n"), "{text}");
    }
}
