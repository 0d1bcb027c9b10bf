//! `bench pacing`: how well a rate is kept, judged by a capture and not by the program that keeps
//! it.
//!
//! Every run has a pair of hosts of its own (crate `lab`); tcpdump on the sender's interface
//! stamps each datagram when the kernel hands it to the link.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;
use lab::LinkSpec;
use measurement::BitRate;
use testbed::candidate::Candidate;
use testbed::capture::Capture;
use testbed::figures::{Figures, Metric};
use testbed::markdown::Align;
use testbed::output::say;
use testbed::port;
use testbed::process::{self, Running};
use testbed::progress::Progress;
use testbed::promise::{self, Limit, Promise};
use testbed::rounds::{self, Benchmark, Entry, Part, Row};
use testbed::table::{Cell, Column, Layout};
use testbed::topology::{self, Path, Topology};
use testbed::workload::{Direction, End, Output, Rate, Test, Traffic, Workload};

use super::flags::{Flags, STREAMS, Strict, installed, require};
use crate::workspace::Workspace;

mod gaps;

/// Compares how well a rate is kept, by a capture on a veth pair
#[derive(Debug, Args)]
#[command(mut_arg("time", |time| {
    time.default_value("5").value_parser(clap::value_parser!(u32).range(1..=60))
}))]
pub(super) struct Pacing {
    #[command(flatten)]
    flags: Flags,
    /// Rates of payload
    #[arg(long, value_name = "RATE,..", value_delimiter = ',', default_values = ["100M", "1G"])]
    rates: Vec<BitRate>,
    #[command(flatten)]
    strict: Strict,
}

impl Pacing {
    pub(super) fn run(self) -> Result<String> {
        require(&["iperf3", "tcpdump"])?;
        let candidates = self.candidates()?;
        topology::prepare()?;
        let (rounds, seconds) = (self.flags.rounds, self.flags.time);
        let rows = rounds::run(&Paced { candidates, rounds, seconds }, &self.rates)?;
        let values = LAYOUT.values(&rows, &COLUMNS);
        self.flags.publish(&format!(
            "Medians of {rounds} rounds of {seconds} s over a veth pair, programs in turn, UDP of \
             {LENGTH} bytes, captured at the sender.\n\n{values}"
        ))?;
        self.strict.verdict(&promise::check(&PROMISES, &rows, |rate| format!("{rate}: ")))
    }

    /// The installed iperf3 first, then ours in each manner.
    fn candidates(&self) -> Result<Vec<Candidate>> {
        let ours = self.flags.candidate(&Workspace::find()?)?;
        let mut candidates = vec![installed("iperf3")?];
        for manner in measurement::Pacing::ALL {
            let flags = format!("--pacing {manner}");
            candidates.push(ours.clone().with_name(&format!("linerate {flags}"), &flags));
        }
        candidates.extend(self.flags.peers(&STREAMS)?);
        Ok(candidates)
    }
}

/// Programs that keep a rate, and how often and how long each does.
struct Paced {
    candidates: Vec<Candidate>,
    rounds: u32,
    seconds: u32,
}

impl Benchmark for Paced {
    type Job = BitRate;
    type Candidate = Candidate;

    fn rounds(&self, _rate: &BitRate) -> u32 {
        self.rounds
    }

    fn candidates(&self, _rate: &BitRate) -> Vec<Candidate> {
        self.candidates.clone()
    }

    fn entry(&self, candidate: &Candidate) -> Entry {
        candidate.entry()
    }

    /// tcpdump ends by SIGTERM.
    fn progress(&self, runs: usize) -> Result<Progress> {
        Ok(Progress::without_interrupts(runs))
    }

    fn run(&self, candidate: &Candidate, rate: &BitRate) -> Result<Result<Figures>> {
        let figures = captured(candidate, *rate, self.seconds);
        let figures = figures.with_context(|| format!("{} failed at {rate}", candidate.name))?;
        let entry = Entry { outcome: Ok(vec![figures.clone()]), ..candidate.entry() };
        let shown =
            COLUMNS.map(|column| format!("{} {}", column.head, column.cell.text(&entry, "-")));
        say(format!("{rate}: {}: {}", candidate.name, shown.join(", ")));
        Ok(Ok(figures))
    }
}

/// Lets a program send at a rate over a link of its own, and captures it.
fn captured(candidate: &Candidate, rate: BitRate, seconds: u32) -> Result<Figures> {
    let topology = Topology::cable(Path::Veth, &LinkSpec::default())?;
    let (host, program) = (topology.client(), &candidate.program);
    let workload = Workload {
        traffic: Traffic::Udp,
        direction: Direction::Send,
        streams: 1,
        length: Some(LENGTH),
        rate: Rate::BitsPerSecond(rate.bits_per_second()),
    };
    let test = Test::new(topology.address(), workload, End::Seconds(seconds));
    let test = Test { output: Output::Text, flags: candidate.flags.clone(), ..test };
    let mut server = Running::silent(program.server(Some(topology.server()), &test))?;
    port::await_listener(Some(topology.server()), test.port, &mut server)?;
    let mut tcpdump = host.command("tcpdump");
    tcpdump.args(["-s", SNAP_LENGTH, "-B", BUFFER_KIB]);
    let filter = format!("udp and dst port {}", test.port);
    let capture = Capture::begin(tcpdump, host.interface(), &filter)?;
    let limit = GRACE + Duration::from_secs(seconds.into());
    let client: Command = program.client(Some(host), &test);
    let client = process::finish(client, limit)?;
    ensure!(client.has_measured(), "{}", client.complaint());
    let recording = capture.end()?;
    ensure!(recording.dropped == 0, "tcpdump missed {} datagrams", recording.dropped);
    let datagrams = recording.frames()?.filter(|frame| frame.length == LENGTH + HEADERS);
    let times: Vec<_> = datagrams.map(|frame| nanos(frame.at)).collect();
    let gap = rate.time_for(u64::from(LENGTH)).as_nanos() as f64;
    let mut figures = gaps::figures(&times, gap).context("hardly a datagram was sent")?;
    figures.push(Metric::SenderCpu, client.cpu.as_secs_f64() * 100.0 / f64::from(seconds));
    Ok(figures)
}

fn nanos(time: Duration) -> u64 {
    time.as_secs() * 1_000_000_000 + u64::from(time.subsec_nanos())
}

/// What SPECIFICATION.md promises about rates. A sender that repays sends more than the rate
/// outside of stalls, and is not held to it.
const PROMISES: [Promise<BitRate>; 6] = [
    Promise {
        text: "smooth: within 0.5 % outside stalls, in %",
        applies: |_| true,
        value: |row| error_outside(row, SMOOTH),
        limit: Limit::AtMost(0.5),
    },
    Promise {
        text: "even: within 0.5 % outside stalls, in %",
        applies: |_| true,
        value: |row| error_outside(row, EVEN),
        limit: Limit::AtMost(0.5),
    },
    Promise {
        text: "smooth: bursts p99 <= 4",
        applies: |_| true,
        value: |row| named(row, SMOOTH)?.median(Metric::BurstP99),
        limit: Limit::AtMost(4.0),
    },
    Promise {
        text: "smooth: CPU <= 1.00 x iperf3",
        applies: |_| true,
        value: cpu_over_iperf3,
        limit: Limit::AtMost(1.0),
    },
    Promise {
        text: "even: gaps within 10 % >= 97 %",
        applies: |rate| !is_fast(*rate),
        value: |row| named(row, EVEN)?.median(Metric::EvenGaps),
        limit: Limit::AtLeast(97.0),
    },
    Promise {
        text: "even: gaps within 10 % >= 95 %",
        applies: |rate| is_fast(*rate),
        value: |row| named(row, EVEN)?.median(Metric::EvenGaps),
        limit: Limit::AtLeast(95.0),
    },
];

fn named<'a>(row: &'a Row<BitRate>, name: &str) -> Option<&'a Entry> {
    row.entries.iter().find(|entry| entry.program == name)
}

fn error_outside(row: &Row<BitRate>, name: &str) -> Option<f64> {
    let errors = named(row, name)?.values(Metric::RateErrorOutside);
    testbed::spread::median(errors.into_iter().map(f64::abs))
}

fn cpu_over_iperf3(row: &Row<BitRate>) -> Option<f64> {
    let theirs = row.entry(Part::Installed)?.median(Metric::SenderCpu)?;
    Some(named(row, SMOOTH)?.median(Metric::SenderCpu)? / theirs)
}

/// Where a gap is shorter than a wake-up, one in fifty more is allowed to miss.
fn is_fast(rate: BitRate) -> bool {
    rate.bits_per_second() > 500_000_000
}

const SMOOTH: &str = "linerate --pacing smooth";
const EVEN: &str = "linerate --pacing even";

const LAYOUT: Layout<'static, BitRate> =
    Layout { keys: &[("rate", Align::Left)], key: |rate| vec![rate.to_string()], missing: "" };

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
    use super::*;

    fn entry(name: &str, part: Part, figures: &[(Metric, f64)]) -> Entry {
        let figures: Figures = figures.iter().copied().collect();
        Entry { outcome: Ok(vec![figures]), ..Entry::new(name, part) }
    }

    fn lines(entries: Vec<Entry>) -> Vec<String> {
        let job = BitRate::from_bits_per_second(100_000_000);
        let outcomes =
            promise::check(&PROMISES, &[Row { job, entries }], |rate| format!("{rate}: "));
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

    #[test]
    fn what_was_not_measured_is_missed() {
        let figures = [(Metric::RateErrorOutside, 0.0), (Metric::BurstP99, 0.0)];
        let lines = lines(vec![entry(SMOOTH, Part::Ours, &figures)]);
        let missed = |line: &&String| line.starts_with("MISSED") && line.ends_with("not measured");
        assert_eq!(lines.iter().filter(missed).count(), 3, "{lines:?}");
    }
}
