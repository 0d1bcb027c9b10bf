//! The whole table as Markdown, and its rows on the terminal as soon as they are complete.

use testbed::candidate::Part;
use testbed::comparison::{Comparison, Job};
use testbed::figures::Metric;
use testbed::markdown::{Align, Table};
use testbed::output::say;
use testbed::rounds::{Entry, JobRow};
use testbed::table::range;
use testbed::workload::Workload;

use crate::bench::flags::is_udp;
use crate::bench::peers::{self, Pair};

/// What holds for all rows.
pub(super) fn rules(comparison: &Comparison) -> [String; 3] {
    let Comparison { rounds, seconds, .. } = comparison;
    [
        format!(
            "Congestion control of all: {}",
            comparison.congestion.as_deref().unwrap_or_default()
        ),
        format!(
            "{rounds} rounds of {seconds} s; in every round each program once, in turn. UDP: \
             client and server on a CPU each. Both: the rates of both directions added up"
        ),
        "A cell is a median. A ratio is the median of the ratios within a round, with the least \
         and the most of them. Usual: linerate as it is, to the fastest peer as it is. Best: the \
         fastest way of linerate, to the fastest way of any peer. What --fastest found, in a \
         search before the rounds, stands behind its rate"
            .to_owned(),
    ]
}

/// A table of rates and one of CPU time, for TCP and for UDP, and what is to be known of rows.
pub(super) fn report(rows: &[JobRow<Job>]) -> String {
    let (udp, tcp): (Vec<_>, Vec<_>) = rows.iter().partition(|row| is_udp(&row.job.workload));
    [
        section("TCP: Gbit/s received", &tcp, Metric::Rate),
        section("TCP: CPU seconds for each GB, both sides", &tcp, Metric::Cpu),
        section("UDP: thousand datagrams/s received", &udp, Metric::Rate),
        section("UDP: CPU seconds for each GB of payload, both sides", &udp, Metric::Cpu),
        remarks("Not run", rows, |entry| entry.outcome.as_ref().err().cloned()),
        remarks("More than the receiving interface counted", rows, excess),
    ]
    .concat()
}

fn section(title: &str, rows: &[&JobRow<Job>], metric: Metric) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let programs = programs(rows);
    let heads = ["workload", "over"].into_iter().map(|head| (head, Align::Left));
    let columns = programs.iter().copied().chain(["usual", "best"]);
    let mut table = Table::new(heads.chain(columns.map(|head| (head, Align::Right))));
    for row in rows {
        let ratio = |pair: Option<Pair>, name: fn(&Pair) -> String| {
            let pair = pair?;
            Some(format!("{}, {}", range(&pair.ratio(metric)?), name(&pair)))
        };
        let medians = programs.iter().map(|program| {
            let entry = row.entries.iter().find(|entry| entry.program == *program);
            entry.and_then(|entry| median(row, entry, metric))
        });
        let ratios = [
            ratio(peers::usual(row), |pair| pair.theirs.program.clone()),
            ratio(peers::best(row), names),
        ];
        let cells = medians.chain(ratios).map(|cell| cell.unwrap_or_else(|| "-".to_owned()));
        let keys = [row.job.workload.to_string(), row.job.path.to_string()];
        table.push(keys.into_iter().chain(cells));
    }
    format!("\n## {title}\n\n{table}")
}

/// In the order in which they take turns.
fn programs<'a>(rows: &[&'a JobRow<Job>]) -> Vec<&'a str> {
    let mut programs = Vec::new();
    for entry in rows.iter().flat_map(|row| &row.entries) {
        if !programs.contains(&entry.program.as_str()) {
            programs.push(entry.program.as_str());
        }
    }
    programs
}

fn median(row: &JobRow<Job>, entry: &Entry, metric: Metric) -> Option<String> {
    let median = entry.median(metric)?;
    Some(match (metric, &entry.engines) {
        (Metric::Cpu, _) => format!("{:.3}", median * 1e9),
        (_, Some(engines)) => format!("{} ({engines})", amount(&row.job.workload, median)),
        (_, None) => amount(&row.job.workload, median),
    })
}

/// In which way ours, and which of theirs.
fn names(pair: &Pair) -> String {
    let way = match pair.ours.part {
        Part::Ours => "usual",
        // Behind name and version.
        _ => pair.ours.program.splitn(3, ' ').nth(2).unwrap_or(&pair.ours.program),
    };
    format!("{way} / {}", pair.theirs.program)
}

/// A list of the programs that there is something to say of.
fn remarks(title: &str, rows: &[JobRow<Job>], remark: fn(&Entry) -> Option<String>) -> String {
    let mut list = String::new();
    for row in rows {
        for entry in &row.entries {
            let line = |remark| format!("- {}: {}: {remark}\n", row.job, entry.program);
            list.extend(remark(entry).map(line));
        }
    }
    if list.is_empty() { list } else { format!("\n## {title}\n\n{list}") }
}

/// What a program reports more than passed the interface; what it reports less, it lost.
fn excess(entry: &Entry) -> Option<String> {
    let excess = entry.median(Metric::Excess).filter(|percent| *percent > DOUBTFUL)?;
    Some(format!("{excess:+.1} %"))
}

/// Prints a row.
pub(super) fn show(row: &JobRow<Job>) {
    say(shown(row));
}

fn shown(row: &JobRow<Job>) -> String {
    let workload = &row.job.workload;
    let unit = if workload.length.is_some() { "k datagrams/s" } else { "Gbit/s" };
    let figures = |entry: &Entry| {
        let (Some(rate), Some(cpu)) = (entry.spread(Metric::Rate), entry.median(Metric::Cpu))
        else {
            return "-".to_owned();
        };
        let [median, least, most] =
            [rate.median, rate.least, rate.most].map(|rate| amount(workload, rate));
        format!("{median:>8} {unit} ({least}..{most}), {:.3} CPU s/GB", cpu * 1e9)
    };
    let pairs = [peers::usual(row), peers::best(row)].into_iter().flatten();
    peers::lines(row, 42, figures, pairs.map(|pair| (names(&pair), pair.rate)))
}

/// A rate of so many bit/s: in Gbit/s, or of datagrams in thousands a second.
fn amount(workload: &Workload, rate: f64) -> String {
    match workload.length {
        None => format!("{:.2}", rate / 1e9),
        Some(length) => format!("{:.1}", rate / 8.0 / f64::from(length) / 1e3),
    }
}

/// Percent above the interface's payload, as in the promise on agreement.
const DOUBTFUL: f64 = 2.0;

#[cfg(test)]
mod tests {
    use testbed::figures::Figures;

    use super::*;
    use crate::bench::peers::tests::row;

    #[test]
    fn a_row_is_shown_with_its_ratios() {
        let rates = [(Part::Ours, "ours", [8.0, 12.0]), (Part::Peer, "iperf", [8.0, 8.0])];
        let text = shown(&row(Workload::tcp(1), &rates));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "TCP send, 1 stream over lo");
        assert!(lines[1].ends_with("10.00 Gbit/s (8.00..12.00), 0.104 CPU s/GB"), "{text}");
        assert_eq!(lines[3], "  usual / iperf: 1.25 (1.00..1.50)");
    }

    #[test]
    fn each_workload_is_a_line_with_a_cell_for_each_program() {
        let rates = [(Part::Ours, "ours", [8.0, 12.0]), (Part::Peer, "iperf", [8.0, 8.0])];
        let text = report(&[
            row(Workload::tcp(1), &rates),
            row(Workload::tcp(4), &rates[..1]),
            row(Workload::datagrams(1000), &rates),
        ]);
        let ratio = "1.25 (1.00..1.50)";
        for line in [
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
        let text = report(&[row]);
        assert!(text.ends_with("- TCP send, 1 stream over lo: iperf: +90.0 %\n"), "{text}");
    }

    #[test]
    fn what_failed_stands_there_with_its_reason() {
        let mut row = row(Workload::tcp(1), &[(Part::Peer, "iperf", [8.0, 8.0])]);
        row.entries[0].outcome = Err("no route".to_owned());
        let text = report(&[row]);
        assert!(text.ends_with("- TCP send, 1 stream over lo: iperf: no route\n"), "{text}");
    }
}
