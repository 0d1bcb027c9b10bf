//! The whole table as Markdown that stands by itself.

use std::fmt::Write;

use testbed::comparison::Job;
use testbed::environment::Environment;
use testbed::figures::Metric;
use testbed::markdown::{Align, Table};
use testbed::rounds::{Entry, Row};
use testbed::spread::Spread;
use testbed::table::range;
use testbed::workload::Workload;

use super::comparison::{self, Comparison, names};
use crate::bench::flags::is_udp;

/// What holds for all rows.
#[derive(Debug)]
pub(super) struct Head {
    /// Names of the programs.
    pub(super) programs: Vec<String>,
    /// On what they run.
    pub(super) environment: Environment,
    /// Runs of each program in each row.
    pub(super) rounds: u32,
    /// Seconds of each run.
    pub(super) seconds: u32,
    /// Congestion control of all.
    pub(super) congestion: String,
    /// A date, if it is to be written.
    pub(super) date: Option<String>,
}

/// Head, then a table of rates and one of CPU time, for TCP and for UDP.
pub(super) fn report(head: &Head, rows: &[Row<Job>]) -> String {
    let mut text = self::head(head);
    let (udp, tcp): (Vec<&Row<Job>>, Vec<&Row<Job>>) =
        rows.iter().partition(|row| is_udp(&row.job.workload));
    section(&mut text, "TCP: Gbit/s received", &tcp, &RATE);
    section(&mut text, "TCP: CPU seconds for each GB, both sides", &tcp, &CPU);
    section(&mut text, "UDP: thousand datagrams/s received", &udp, &RATE);
    section(&mut text, "UDP: CPU seconds for each GB of payload, both sides", &udp, &CPU);
    failures(&mut text, rows);
    doubts(&mut text, rows);
    text
}

/// Programs, machine and rules.
pub(super) fn head(head: &Head) -> String {
    let Head { rounds, seconds, congestion, .. } = head;
    let mut lines = vec![format!("Programs: {}", head.programs.join(", "))];
    lines.extend(head.environment.lines());
    lines.push(format!("Congestion control of all: {congestion}"));
    lines.push(format!(
        "{rounds} rounds of {seconds} s; in every round each program once, in turn. UDP: client \
         and server on a CPU each. Both: the rates of both directions added up"
    ));
    lines.push(
        "A cell is a median. A ratio is the median of the ratios within a round, with the least \
         and the most of them. Usual: linerate as it is, to the fastest peer as it is. Best: the \
         fastest way of linerate, to the fastest way of any peer. What --fastest found, in a \
         search before the rounds, stands behind its rate"
            .to_owned(),
    );
    lines.extend(head.date.clone());
    format!("# linerate beside its peers\n\n- {}.\n", lines.join(".\n- "))
}

/// What a table is of.
struct Column {
    cell: fn(&Row<Job>, &Entry) -> Option<String>,
    ratio: fn(&Comparison) -> Option<Spread>,
}

const RATE: Column = Column {
    cell: |row, entry| {
        let rate = amount(&row.job.workload, entry.median(Metric::Rate)?);
        Some(match &entry.engines {
            Some(engines) => format!("{rate} ({engines})"),
            None => rate,
        })
    },
    ratio: |comparison| Some(comparison.rate),
};

const CPU: Column = Column {
    cell: |_, entry| entry.median(Metric::Cpu).map(|cpu| format!("{:.3}", cpu * 1e9)),
    ratio: |comparison| comparison.cpu,
};

fn section(text: &mut String, title: &str, rows: &[&Row<Job>], column: &Column) {
    if rows.is_empty() {
        return;
    }
    let programs = programs(rows);
    let heads = ["workload", "over"].into_iter().map(|head| (head, Align::Left));
    let columns = programs.iter().copied().chain(["usual", "best"]);
    let mut table = Table::new(heads.chain(columns.map(|head| (head, Align::Right))));
    for row in rows {
        table.push(cells(row, &programs, column));
    }
    // Writing to a String does not fail.
    _ = write!(text, "\n## {title}\n\n{table}");
}

fn cells(row: &Row<Job>, programs: &[&str], column: &Column) -> Vec<String> {
    let mut cells = vec![row.job.workload.to_string(), row.job.path.to_string()];
    cells.extend(programs.iter().map(|program| {
        let entry = row.entries.iter().find(|entry| entry.program == *program);
        entry.and_then(|entry| (column.cell)(row, entry)).unwrap_or_else(nothing)
    }));
    let compared = |comparison: Option<Comparison>, name: fn(&Comparison) -> String| {
        let comparison = comparison?;
        let spread = (column.ratio)(&comparison)?;
        Some(format!("{}, {}", range(&spread), name(&comparison)))
    };
    let usual = compared(comparison::usual(row), |usual| usual.theirs.program.clone());
    let best = compared(comparison::best(row), names);
    cells.extend([usual, best].map(|cell| cell.unwrap_or_else(nothing)));
    cells
}

/// In the order in which they take turns.
fn programs<'a>(rows: &[&'a Row<Job>]) -> Vec<&'a str> {
    let mut programs = Vec::new();
    for entry in rows.iter().flat_map(|row| &row.entries) {
        if !programs.contains(&entry.program.as_str()) {
            programs.push(entry.program.as_str());
        }
    }
    programs
}

fn failures(text: &mut String, rows: &[Row<Job>]) {
    let refused = rows.iter().flat_map(|row| {
        let reason = |entry: &Entry| entry.outcome.as_ref().err().cloned();
        row.entries.iter().filter_map(move |entry| Some((row, &entry.program, reason(entry)?)))
    });
    let mut title = "\n## Not run\n\n";
    for (row, program, reason) in refused {
        _ = writeln!(text, "{title}- {}: {program}: {reason}", row.job);
        title = "";
    }
}

/// Programs that report more than passed the interface; what they report less, they lost.
fn doubts(text: &mut String, rows: &[Row<Job>]) {
    let mut title = "\n## More than the receiving interface counted\n\n";
    for (row, entry) in rows.iter().flat_map(|row| row.entries.iter().map(move |one| (row, one))) {
        let excess = entry.median(Metric::Excess);
        let Some(excess) = excess.filter(|percent| *percent > DOUBTFUL) else { continue };
        _ = writeln!(text, "{title}- {}: {}: {excess:+.1} %", row.job, entry.program);
        title = "";
    }
}

/// A rate of so many bit/s, in the unit of the workload.
pub(super) fn amount(workload: &Workload, rate: f64) -> String {
    match workload.length {
        None => format!("{:.2}", rate / 1e9),
        Some(length) => format!("{:.1}", rate / 8.0 / f64::from(length) / 1e3),
    }
}

/// The unit of [`amount`].
pub(super) fn unit(workload: &Workload) -> &'static str {
    match workload.length {
        None => "Gbit/s",
        Some(_) => "k datagrams/s",
    }
}

/// What a program did not do, or does not report.
fn nothing() -> String {
    "-".to_owned()
}

/// Percent above the interface's payload, as in the promise on agreement.
const DOUBTFUL: f64 = 2.0;

#[cfg(test)]
mod tests {
    use testbed::figures::Figures;
    use testbed::rounds::Part;

    use super::super::comparison::tests::row;
    use super::*;

    fn text(rows: &[Row<Job>]) -> String {
        let head = Head {
            programs: vec!["ours".to_owned(), "iperf".to_owned()],
            environment: Environment::read(&[]).expect("no hosts are made"),
            rounds: 2,
            seconds: 1,
            congestion: "cubic".to_owned(),
            date: Some("Today".to_owned()),
        };
        report(&head, rows)
    }

    #[test]
    fn each_workload_is_a_line_with_a_cell_for_each_program() {
        let rates = [(Part::Ours, "ours", [8.0, 12.0]), (Part::Peer, "iperf", [8.0, 8.0])];
        let text = text(&[
            row(Workload::tcp(1), &rates),
            row(Workload::tcp(4), &rates[..1]),
            row(Workload::datagrams(1000), &rates),
        ]);
        let ratio = "1.25 (1.00..1.50)";
        for line in [
            "- Today.",
            "| workload | over | ours | iperf | usual | best |",
            &format!(
                "| TCP send, 1 stream | lo | 10.00 | 8.00 | {ratio}, iperf | {ratio}, usual / iperf |"
            ),
            "| TCP send, 4 streams | lo | 10.00 | - | - | - |",
            &format!(
                "| UDP 1000 B send, 1 stream | lo | 1250.0 | 1000.0 | {ratio}, iperf | {ratio}, usual / iperf |"
            ),
        ] {
            assert!(text.lines().any(|one| one == line), "{line}\n{text}");
        }
        assert!(!text.contains("Not run") && !text.contains("More than"));
    }

    #[test]
    fn a_program_that_reports_more_than_passed_is_named() {
        let mut row = row(Workload::tcp(1), &[(Part::Peer, "iperf", [8.0, 8.0])]);
        let figures = Figures::from_iter([(Metric::Rate, 8e9), (Metric::Excess, 90.0)]);
        row.entries[0].outcome = Ok(vec![figures; 2]);
        let text = text(&[row]);
        assert!(text.ends_with("- TCP send, 1 stream over lo: iperf: +90.0 %\n"), "{text}");
    }

    #[test]
    fn what_failed_stands_there_with_its_reason() {
        let mut row = row(Workload::tcp(1), &[(Part::Peer, "iperf", [8.0, 8.0])]);
        row.entries[0].outcome = Err("no route".to_owned());
        let text = text(&[row]);
        assert!(text.ends_with("- TCP send, 1 stream over lo: iperf: no route\n"), "{text}");
    }
}
