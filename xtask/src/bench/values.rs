//! The tables of `bench streams`, `engines` and `datagrams`: values first, ratios second.

use testbed::comparison::{Comparison, Job};
use testbed::figures::Metric;
use testbed::markdown::Align;
use testbed::rounds::JobRow;
use testbed::table::{Cell, Column, Layout};

use super::flags::is_udp;

/// Both tables, with how they came about.
pub(super) fn report(comparison: &Comparison, rows: &[JobRow<Job>]) -> String {
    let values = LAYOUT.values(rows, &COLUMNS);
    let ratios = LAYOUT.ratios("ours over", JobRow::others, rows, &RATIOS);
    format!("{}{values}\n{ratios}", heading(comparison, rows))
}

/// Shows the rates of a row when it is complete.
pub(super) fn show(row: &JobRow<Job>) {
    row.show(Metric::Rate, 1e-9, "Gbit/s");
}

/// Streams and path, before a promise.
pub(super) fn name(job: &Job) -> String {
    format!("{} streams over {}: ", job.workload.streams, job.path)
}

fn heading(comparison: &Comparison, rows: &[JobRow<Job>]) -> String {
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

const RATIOS: [(&str, Metric); 2] = [("Gbit/s", Metric::Rate), ("CPU s/GB, both", Metric::Cpu)];

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
