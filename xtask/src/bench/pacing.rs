//! `bench pacing`: how well a rate is kept, judged by a capture and not by the program that keeps
//! it.
//!
//! Every run has a pair of hosts of its own (crate `lab`); tcpdump on the sender's interface
//! stamps each datagram when the kernel hands it to the link.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;
use measurement::BitRate;
use testbed::candidate::{Candidate, Part};
use testbed::capture::Capture;
use testbed::comparison::{self, Comparison, Job};
use testbed::figures::{Figures, Metric};
use testbed::markdown::Align;
use testbed::output::say;
use testbed::port;
use testbed::process::{self, Running};
use testbed::progress::Progress;
use testbed::promise::Promise;
use testbed::promise::Value::Other;
use testbed::rounds::{Entry, JobRow};
use testbed::table::{Cell, Column, Layout};
use testbed::topology::{Path, Topology};
use testbed::workload::{Output, Rate, Test, Workload};

use super::compared::Bench;
use super::flags::{Flags, STREAMS, Strict, installed, require};

mod gaps;

/// Compares how well a rate is kept, by a capture on a veth pair
#[derive(Debug, Args)]
#[command(mut_arg("time", |time| {
    time.default_value("5").value_parser(clap::value_parser!(u32).range(1..=60))
}))]
pub(super) struct Pacing {
    /// Rates of payload
    #[arg(long, value_name = "RATE,..", value_delimiter = ',', default_values = ["100M", "1G"])]
    rates: Vec<BitRate>,
    #[command(flatten)]
    strict: Strict,
}

impl Bench for Pacing {
    const RUN: comparison::Run = captured;
    /// tcpdump ends by SIGTERM.
    const PROGRESS: fn(usize) -> Result<Progress> = |runs| Ok(Progress::without_interrupts(runs));
    /// Each run is shown by itself.
    const SHOW: fn(&JobRow<Job>) = |_| {};

    /// The installed iperf3 first, then ours in each manner.
    fn candidates(&self, flags: &Flags) -> Result<Vec<Candidate>> {
        require(&["iperf3", "tcpdump"])?;
        let ours = flags.candidate()?;
        let mut candidates = vec![installed("iperf3")?];
        for manner in measurement::Pacing::ALL {
            let flags = format!("--pacing {manner}");
            candidates.push(ours.clone().with_name(&format!("linerate {flags}"), &flags));
        }
        candidates.extend(flags.peers(&STREAMS)?);
        Ok(candidates)
    }

    fn jobs(&self) -> Vec<Job> {
        Job::each(self.rates.iter().copied().map(paced), &[Path::Veth])
    }

    fn report(&self, comparison: &Comparison, rows: &[JobRow<Job>]) -> String {
        let Comparison { rounds, seconds, .. } = comparison;
        let values = LAYOUT.values(rows, &COLUMNS);
        format!(
            "Medians of {rounds} rounds of {seconds} s over a veth pair, programs in turn, UDP of \
             {LENGTH} bytes, captured at the sender.\n\n{values}"
        )
    }

    fn verdict(&self, rows: &[JobRow<Job>]) -> Result<String> {
        self.strict.verdict(&PROMISES, rows, |job| format!("{}: ", rate(&job.workload)))
    }
}

/// Lets a program send at a rate, captures it, and shows what came of it. One that fails ends the
/// bench.
fn captured(candidate: &Candidate, topology: &Topology, test: &Test) -> Result<Result<Figures>> {
    let rate = rate(&test.workload);
    let figures = measure(candidate, topology, test);
    let figures = figures.with_context(|| format!("{} failed at {rate}", candidate.name))?;
    let outcome = Ok(vec![figures.clone()]);
    let entry = Entry { outcome, ..Entry::new(&candidate.name, candidate.part) };
    let shown = COLUMNS.map(|column| format!("{} {}", column.head, column.cell.text(&entry, "-")));
    say(format!("{rate}: {}: {}", candidate.name, shown.join(", ")));
    Ok(Ok(figures))
}

fn measure(candidate: &Candidate, topology: &Topology, test: &Test) -> Result<Figures> {
    let (host, program) = (topology.client(), &candidate.program);
    let test = Test { output: Output::Text, flags: candidate.flags.clone(), ..test.clone() };
    let mut server = Running::silent(program.server(Some(topology.server()), &test))?;
    port::await_listener(Some(topology.server()), test.port, &mut server)?;
    let mut tcpdump = host.command("tcpdump");
    tcpdump.args(["-s", SNAP_LENGTH, "-B", BUFFER_KIB]);
    let filter = format!("udp and dst port {}", test.port);
    let capture = Capture::begin(tcpdump, host.interface(), &filter)?;
    let limit = GRACE + Duration::from_secs(test.seconds().into());
    let client = process::finish(program.client(Some(host), &test), limit)?;
    ensure!(client.has_measured(), "{}", client.complaint());
    let recording = capture.end()?;
    ensure!(recording.dropped == 0, "tcpdump missed {} datagrams", recording.dropped);
    let datagrams = recording.frames()?.filter(|frame| frame.length == LENGTH + HEADERS);
    let times: Vec<_> = datagrams.map(|frame| nanos(frame.at)).collect();
    let gap = rate(&test.workload).time_for(u64::from(LENGTH)).as_nanos() as f64;
    let mut figures = gaps::figures(&times, gap).context("hardly a datagram was sent")?;
    let sender = client.cpu.as_secs_f64() * 100.0 / f64::from(test.seconds());
    figures.push(Metric::SenderCpu, sender);
    Ok(figures)
}

fn nanos(time: Duration) -> u64 {
    time.as_secs() * 1_000_000_000 + u64::from(time.subsec_nanos())
}

fn paced(rate: BitRate) -> Workload {
    let rate = Rate::BitsPerSecond(rate.bits_per_second());
    Workload { rate, ..Workload::datagrams(LENGTH) }
}

fn rate(workload: &Workload) -> BitRate {
    match workload.rate {
        Rate::BitsPerSecond(rate) => BitRate::from_bits_per_second(rate),
        Rate::Usual | Rate::Unlimited => BitRate::from_bits_per_second(0),
    }
}

/// The promise `pacing-rate`, and limits of docs/misses.md. A sender that repays sends more than the rate
/// outside of stalls, and is not held to it.
const PROMISES: [Promise<Job>; 6] = [
    Promise::new(
        "smooth: within 0.5 % outside stalls, in %",
        |_| true,
        Other(|row| error_outside(row, SMOOTH)),
    ),
    Promise::new(
        "even: within 0.5 % outside stalls, in %",
        |_| true,
        Other(|row| error_outside(row, EVEN)),
    ),
    Promise::new(
        "smooth: bursts p99 <= 4",
        |_| true,
        Other(|row| named(row, SMOOTH)?.median(Metric::BurstP99)),
    ),
    Promise::new("smooth: CPU <= 1.00 x iperf3", |_| true, Other(cpu_over_iperf3)),
    Promise::new("even: gaps within 10 % >= 97 %", |job| !is_fast(job), Other(even_gaps)),
    Promise::new("even: gaps within 10 % >= 95 %", is_fast, Other(even_gaps)),
];

fn named<'a>(row: &'a JobRow<Job>, name: &str) -> Option<&'a Entry> {
    row.entries.iter().find(|entry| entry.program == name)
}

fn error_outside(row: &JobRow<Job>, name: &str) -> Option<f64> {
    let errors = named(row, name)?.values(Metric::RateErrorOutside);
    testbed::spread::median(errors.into_iter().map(f64::abs))
}

fn cpu_over_iperf3(row: &JobRow<Job>) -> Option<f64> {
    let theirs = row.entry(Part::Installed)?.median(Metric::SenderCpu)?;
    Some(named(row, SMOOTH)?.median(Metric::SenderCpu)? / theirs)
}

fn even_gaps(row: &JobRow<Job>) -> Option<f64> {
    named(row, EVEN)?.median(Metric::EvenGaps)
}

/// Where a gap is shorter than a wake-up, one in fifty more is allowed to miss.
fn is_fast(job: &Job) -> bool {
    rate(&job.workload).bits_per_second() > 500_000_000
}

const SMOOTH: &str = "linerate --pacing smooth";
const EVEN: &str = "linerate --pacing even";

const LAYOUT: Layout<'static, Job> = Layout {
    keys: &[("rate", Align::Left)],
    key: |job| vec![rate(&job.workload).to_string()],
    missing: "",
};

const COLUMNS: [Column; 8] = [
    Column { head: "error %", cell: Cell::Number(Metric::RateError, 1.0, 2) },
    Column { head: "error % outside stalls", cell: Cell::Number(Metric::RateErrorOutside, 1.0, 3) },
    Column { head: "stalled %", cell: Cell::Number(Metric::Stalled, 1.0, 2) },
    Column { head: "CPU % of sender", cell: Cell::Number(Metric::SenderCpu, 1.0, 1) },
    Column { head: "burst p50", cell: Cell::Number(Metric::BurstMedian, 1.0, 0) },
    Column { head: "burst p99", cell: Cell::Number(Metric::BurstP99, 1.0, 0) },
    Column { head: "burst max", cell: Cell::Number(Metric::BurstMost, 1.0, 0) },
    Column { head: "gaps within 10 %", cell: Cell::Number(Metric::EvenGaps, 1.0, 1) },
];

/// Payload of a datagram: with its headers it fits an Ethernet frame.
const LENGTH: u32 = 1460;
/// Ethernet, IPv4 and UDP.
const HEADERS: u32 = 14 + 20 + 8;
/// Headers are enough.
const SNAP_LENGTH: &str = "64";
const BUFFER_KIB: &str = "65536";
/// How much longer than asked a run may take.
const GRACE: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use testbed::promise;

    use super::*;

    fn entry(name: &str, part: Part, figures: &[(Metric, f64)]) -> Entry {
        let figures: Figures = figures.iter().copied().collect();
        Entry { outcome: Ok(vec![figures]), ..Entry::new(name, part) }
    }

    fn lines(entries: Vec<Entry>) -> Vec<String> {
        let rate = BitRate::from_bits_per_second(100_000_000);
        let job = Job { workload: paced(rate), path: Path::Veth };
        let outcomes = promise::check(&PROMISES, &[JobRow { job, entries }], |_| String::new());
        outcomes.iter().map(ToString::to_string).collect()
    }

    fn rows(error: f64, cpu: f64, burst: f64, even: f64) -> Vec<Entry> {
        let figures = [
            (Metric::RateErrorOutside, error),
            (Metric::SenderCpu, cpu),
            (Metric::BurstP99, burst),
            (Metric::EvenGaps, even),
        ];
        let ours = [SMOOTH, EVEN, "linerate --pacing repay"];
        let ours = ours.map(|name| entry(name, Part::Ours, &figures));
        let iperf3 = entry("iperf 3.12", Part::Installed, &[(Metric::SenderCpu, 6.0)]);
        std::iter::once(iperf3).chain(ours).collect()
    }

    #[test]
    fn promises_are_kept_or_missed() {
        let kept = lines(rows(0.0, 5.0, 0.0, 99.0));
        assert_eq!(kept.len(), 5);
        assert!(kept.iter().all(|line| line.starts_with("kept")), "{kept:?}");
        let missed = lines(rows(-0.6, 7.0, 5.0, 90.0));
        assert!(missed.iter().all(|line| line.starts_with("MISSED")), "{missed:?}");
    }
}
