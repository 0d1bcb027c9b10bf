//! The comparison as Markdown.

use std::fmt::Write;

use super::contender::Part;
use super::contest::{Contest, Entry, Row};
use super::figures::Metric;
use crate::bench::spread::Spread;

/// Values first, ratios second.
pub(in crate::bench) fn of(contest: &Contest, rows: &[Row]) -> String {
    let mut text = heading(contest, rows);
    text.push_str(VALUES);
    for row in rows {
        for entry in &row.entries {
            line(&mut text, row, entry, &values(entry));
        }
    }
    text.push_str(RATIOS);
    for row in rows {
        let Some(ours) = row.entry(Part::Ours) else { continue };
        for theirs in row.entries.iter().filter(|entry| entry.part != Part::Ours) {
            line(&mut text, row, theirs, &ratios(ours, theirs));
        }
    }
    text
}

fn heading(contest: &Contest, rows: &[Row]) -> String {
    let manner = if rows.iter().any(|row| row.workload.length.is_some()) {
        "client and server on a CPU each".to_owned()
    } else {
        format!("not pinned, congestion control {}", contest.congestion)
    };
    format!(
        "Medians of {} rounds of {} s, programs in turn, {manner}. \
         Off the interface: the program's bytes against those that the receiving interface \
         counted, headers taken off. \
         With other programs on the CPUs, trust CPU s/GB rather than Gbit/s.\n\n",
        contest.rounds, contest.seconds
    )
}

const VALUES: &str = "\
| streams | over | program | Gbit/s received | off the interface | CPU s/GB, both | CPU of others \
| peak MB client + server | Jain | least Mbit/s | without progress | skew ms start + stop |
|--:|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|
";

const RATIOS: &str = "
| streams | over | ours over | Gbit/s | CPU s/GB, both |
|--:|---|---|--:|--:|
";

fn values(entry: &Entry) -> Vec<String> {
    if let Err(reason) = &entry.outcome {
        return vec![format!("not run: {reason}")];
    }
    let one = |metric, digits| median(entry, metric, digits);
    let pair = |left, right, digits| format!("{} + {}", one(left, digits), one(right, digits));
    vec![
        one(Metric::Rate, 2),
        shown(entry, Metric::Excess, |percent| format!("{percent:+.2} %")),
        one(Metric::Cpu, 3),
        shown(entry, Metric::Others, |percent| format!("{percent:.0} %")),
        pair(Metric::ClientMemory, Metric::ServerMemory, 1),
        one(Metric::Jain, 3),
        one(Metric::Least, 2),
        one(Metric::WithoutProgress, 0),
        pair(Metric::StartSkew, Metric::StopSkew, 1),
    ]
}

fn ratios(ours: &Entry, theirs: &Entry) -> Vec<String> {
    let ratio = |metric| {
        let spread = Spread::of_ratios(&ours.of(metric), &theirs.of(metric));
        spread.map_or_else(nothing, |spread| {
            format!("{:.2} ({:.2}..{:.2})", spread.median, spread.least, spread.most)
        })
    };
    vec![ratio(Metric::Rate), ratio(Metric::Cpu)]
}

fn median(entry: &Entry, metric: Metric, digits: usize) -> String {
    shown(entry, metric, |median| format!("{median:.digits$}"))
}

fn shown(entry: &Entry, metric: Metric, show: impl Fn(f64) -> String) -> String {
    Spread::of(entry.of(metric)).map_or_else(nothing, |spread| show(spread.median))
}

/// What a program does not tell.
fn nothing() -> String {
    "-".to_owned()
}

fn line(text: &mut String, row: &Row, entry: &Entry, cells: &[String]) {
    let (streams, route, program) = (row.workload.streams, row.route, &entry.program);
    // Writing to a String does not fail.
    _ = writeln!(text, "| {streams} | {route} | {program} | {} |", cells.join(" | "));
}

#[cfg(test)]
mod tests {
    use super::super::figures::Figures;
    use super::super::scene::Route;
    use super::super::workload::Workload;
    use super::*;

    #[test]
    fn values_ratios_and_refusals_are_lines() {
        let ran = |part, program: &str, rates: [f64; 2]| {
            let figures =
                rates.map(|rate| Figures::just(&[(Metric::Rate, rate), (Metric::Excess, -0.5)]));
            let (program, engines) = (program.to_owned(), None);
            Entry { program, part, engines, outcome: Ok(figures.to_vec()) }
        };
        let refused = Entry {
            program: "iperf 3".to_owned(),
            part: Part::Peer,
            engines: None,
            outcome: Err("too many".to_owned()),
        };
        let entries = vec![
            ran(Part::Ours, "linerate 1", [4.0, 6.0]),
            ran(Part::Reference, "loop", [2.0, 2.0]),
            refused,
        ];
        let contest = Contest { rounds: 2, seconds: 1, congestion: "cubic".to_owned() };
        let text =
            of(&contest, &[Row { workload: Workload::tcp(16), route: Route::Veth, entries }]);
        let lines = [
            "\n| 16 | veth | linerate 1 | 5.00 | -0.50 % | - | - | - + - | - | - | - | - + - |\n",
            "\n| 16 | veth | iperf 3 | not run: too many |\n",
            "\n| 16 | veth | loop | 2.50 (2.00..3.00) | - |\n",
            "\n| 16 | veth | iperf 3 | - | - |\n",
        ];
        assert!(lines.iter().all(|line| text.contains(line)), "{text}");
    }
}
