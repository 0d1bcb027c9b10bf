//! The tables of `bench streams`, `engines` and `datagrams`: values first, ratios second.

use testbed::comparison::{Comparison, Job};
use testbed::figures::Metric;
use testbed::markdown::Align;
use testbed::rounds::Row;
use testbed::table::{Cell, Column, Layout};

use super::flags::is_udp;

/// Both tables, with how they came about.
pub(super) fn report(comparison: &Comparison, rows: &[Row<Job>]) -> String {
    let values = LAYOUT.values(rows, &COLUMNS);
    let ratios = LAYOUT.ratios(rows, &[("Gbit/s", Metric::Rate), ("CPU s/GB, both", Metric::Cpu)]);
    format!("{}{values}\n{ratios}", heading(comparison, rows))
}

/// Shows the rates of a row when it is complete.
pub(super) fn show(row: &Row<Job>) {
    row.show(Metric::Rate, 1e-9, "Gbit/s");
}

/// Streams and path, before a promise.
pub(super) fn name(job: &Job) -> String {
    format!("{} streams over {}: ", job.workload.streams, job.path)
}

fn heading(comparison: &Comparison, rows: &[Row<Job>]) -> String {
    let manner = if rows.iter().any(|row| is_udp(&row.job.workload)) {
        "client and server on a CPU each".to_owned()
    } else {
        let congestion = comparison.congestion.as_deref().unwrap_or("none");
        format!("not pinned, congestion control {congestion}")
    };
    format!(
        "Medians of {} rounds of {} s, programs in turn, {manner}. \
         Off the interface: the program's bytes against those that the receiving interface \
         counted, headers taken off. \
         With other programs on the CPUs, trust CPU s/GB rather than Gbit/s.\n\n",
        comparison.rounds, comparison.seconds
    )
}

const LAYOUT: Layout<'static, Job> = Layout {
    keys: &[("streams", Align::Right), ("over", Align::Left)],
    key: |job| vec![job.workload.streams.to_string(), job.path.to_string()],
    missing: "-",
};

const COLUMNS: [Column; 9] = [
    Column { head: "Gbit/s received", cell: Cell::Number(Metric::Rate, 1e-9, 2) },
    Column { head: "off the interface", cell: Cell::Deviation(Metric::Excess, 2) },
    Column { head: "CPU s/GB, both", cell: Cell::Number(Metric::Cpu, 1e9, 3) },
    Column { head: "CPU of others", cell: Cell::Percent(Metric::Others, 0) },
    Column {
        head: "peak MB client + server",
        cell: Cell::Pair(Metric::ClientMemory, Metric::ServerMemory, 1e-6, 1),
    },
    Column { head: "Jain", cell: Cell::Number(Metric::Jain, 1.0, 3) },
    Column { head: "least Mbit/s", cell: Cell::Number(Metric::Least, 1e-6, 2) },
    Column { head: "without progress", cell: Cell::Number(Metric::WithoutProgress, 1.0, 0) },
    Column {
        head: "skew ms start + stop",
        cell: Cell::Pair(Metric::StartSkew, Metric::StopSkew, 1e3, 1),
    },
];

#[cfg(test)]
mod tests {
    use testbed::figures::Figures;
    use testbed::rounds::{Entry, Part};
    use testbed::topology::Path;
    use testbed::workload::Workload;

    use super::*;

    #[test]
    fn values_ratios_and_refusals_are_lines() {
        let ran = |part, program: &str, rates: [f64; 2]| {
            let figures = rates
                .map(|rate| Figures::from_iter([(Metric::Rate, rate), (Metric::Excess, -0.5)]));
            Entry { outcome: Ok(figures.to_vec()), ..Entry::new(program, part) }
        };
        let refused =
            Entry { outcome: Err("too many".to_owned()), ..Entry::new("iperf 3", Part::Peer) };
        let entries = vec![
            ran(Part::Ours, "linerate 1", [4e9, 6e9]),
            ran(Part::Reference, "loop", [2e9, 2e9]),
            refused,
        ];
        let comparison = Comparison {
            rounds: 2,
            seconds: 1,
            congestion: Some("cubic".to_owned()),
            candidates: Vec::new(),
            show,
        };
        let job = Job { workload: Workload::tcp(16), path: Path::Veth };
        let text = report(&comparison, &[Row { job, entries }]);
        let lines = [
            "congestion control cubic.",
            "\n\n| streams | over | program | Gbit/s received | off the interface | CPU s/GB, both \
             | CPU of others | peak MB client + server | Jain | least Mbit/s | without progress \
             | skew ms start + stop |\n|--:|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
            "\n| 16 | veth | linerate 1 | 5.00 | -0.50 % | - | - | - + - | - | - | - | - + - |\n",
            "\n| 16 | veth | iperf 3 | not run: too many |\n",
            "\n\n| streams | over | ours over | Gbit/s | CPU s/GB, both |\n|--:|---|---|--:|--:|\n",
            "\n| 16 | veth | loop | 2.50 (2.00..3.00) | - |\n",
            "\n| 16 | veth | iperf 3 | - | - |\n",
        ];
        assert!(lines.iter().all(|line| text.contains(line)), "{text}");
    }
}
