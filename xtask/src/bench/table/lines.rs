//! A row on the terminal, as soon as it is complete.

use std::fmt::Write;

use testbed::comparison::Job;
use testbed::figures::Metric;
use testbed::output::say;
use testbed::rounds::{Entry, Row};
use testbed::table::range;

use super::comparison::{best, names, usual};
use super::markdown::{amount, unit};

/// Prints it.
pub(super) fn show(row: &Row<Job>) {
    say(text(row));
}

fn text(row: &Row<Job>) -> String {
    let mut text = format!("{}\n", row.job);
    for entry in &row.entries {
        // Writing to a String does not fail.
        _ = writeln!(text, "  {:<WIDTH$} {}", entry.program, figures(row, entry));
    }
    for comparison in [usual(row), best(row)].into_iter().flatten() {
        _ = writeln!(text, "  {}: {}", names(&comparison), range(&comparison.rate));
    }
    text
}

fn figures(row: &Row<Job>, entry: &Entry) -> String {
    let shown = |value| amount(&row.job.workload, value);
    let cpu = entry.median(Metric::Cpu).map(|cpu| cpu * 1e9);
    match (&entry.outcome, entry.spread(Metric::Rate), cpu) {
        (Err(reason), ..) => format!("not run: {reason}"),
        (_, Some(rate), Some(cpu)) => format!(
            "{:>8} {} ({}..{}), {:.3} CPU s/GB",
            shown(rate.median),
            unit(&row.job.workload),
            shown(rate.least),
            shown(rate.most),
            cpu
        ),
        _ => "-".to_owned(),
    }
}

/// Of the name of a program with its flags.
const WIDTH: usize = 42;

#[cfg(test)]
mod tests {
    use testbed::rounds::Part;
    use testbed::workload::Workload;

    use super::super::comparison::tests::row;
    use super::*;

    #[test]
    fn a_row_is_shown_with_its_ratios() {
        let rates = [(Part::Ours, "ours", [8.0, 12.0]), (Part::Peer, "iperf", [8.0, 8.0])];
        let text = text(&row(Workload::tcp(1), &rates));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "TCP send, 1 stream over lo");
        assert!(lines[1].ends_with("10.00 Gbit/s (8.00..12.00), 0.104 CPU s/GB"), "{text}");
        assert_eq!(lines[3], "  usual / iperf: 1.25 (1.00..1.50)");
    }
}
