//! `bench`: linerate and iperf3 over this host's loopback, each with one server for all rows.

use std::fmt;
use std::iter;
use std::net::Ipv4Addr;
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use testbed::candidate::{Candidate, Part};
use testbed::figures::{Figures, Metric};
use testbed::markdown::Align;
use testbed::output::say;
use testbed::process::{self, Running};
use testbed::program::{Installed, Printed};
use testbed::promise::{Promise, Value};
use testbed::rounds::{self, Benchmark, JobRow};
use testbed::run::Seen;
use testbed::table::{Cell, Column, Layout};
use testbed::workload::{Direction, End, Output, Test, Workload};
use testbed::{congestion, port};

use super::flags::{Flags, Strict, ours, require};

/// Rounds of transfers, and of starts
#[derive(Debug, Args)]
#[command(mut_arg("time", |time| time.default_value("5")))]
pub(super) struct Loopback {
    #[command(flatten)]
    flags: Flags,
    /// Two rounds of one second
    #[arg(long, conflicts_with_all = ["rounds", "time"])]
    quick: bool,
    #[command(flatten)]
    strict: Strict,
}

impl Loopback {
    pub(super) fn run(self) -> Result<String> {
        let programs = self.programs()?;
        let (rounds, seconds) =
            if self.quick { (2, 1) } else { (self.flags.rounds, self.flags.time) };
        let congestion = common_congestion(&programs)?;
        let names: Vec<&str> = programs.iter().map(|one| one.program.name.as_str()).collect();
        say(format!("programs: {}; congestion control {congestion}", names.join(", ")));
        if !programs.iter().all(|program| program.server.usage().reset_peak()) {
            say("note: this kernel resets no peaks; a server's memory is its peak since the start");
        }
        let heading = format!(
            "Medians of {rounds} rounds of {seconds} s over loopback, programs in turn, not pinned, \
             congestion control {congestion}.\n\n"
        );
        let rows = rounds::run(&Transfers { programs, rounds, seconds, congestion }, &ROWS)?;
        let (values, ratios) = (
            LAYOUT.values(&rows, &COLUMNS),
            LAYOUT.ratios("ours over", JobRow::others, &rows, &RATIOS),
        );
        self.flags.publish(&format!("{heading}{values}\n{ratios}"))?;
        self.strict.verdict(&PROMISES, &rows, |_| String::new())
    }

    /// Ours first, the installed iperf3 second.
    fn programs(&self) -> Result<Vec<Served>> {
        require(&["iperf3"])?;
        let ours = ours(self.flags.linerate.as_ref())?;
        let all = [ours, "iperf3".into()].into_iter().chain(self.flags.peer.iter().cloned());
        all.map(|path| Served::start(&path)).collect()
    }
}

/// A program and its server on this host, which ends with this value.
pub(super) struct Served {
    /// The program.
    pub(super) program: Installed,
    /// Its server.
    pub(super) server: Running,
    port: u16,
}

impl Served {
    /// Starts its server on a free port of loopback; it listens when this returns.
    pub(super) fn start(path: &Path) -> Result<Self> {
        let program = Installed::find(path)?;
        let test = Test::new(Ipv4Addr::LOCALHOST, Workload::tcp(1), End::Seconds(1));
        let test = Test { port: port::free()?, ..test };
        let mut command = program.server(None, &test);
        command.stdout(std::process::Stdio::null());
        let mut server = Running::start(command)?;
        port::await_listener(None, test.port, &mut server)?;
        Ok(Self { server, port: test.port, program })
    }

    /// A test against its server.
    pub(super) fn test(&self, row: &Transfer, seconds: u32, congestion: &str) -> Test {
        let (end, output) = match row.end {
            Some(end) => (end, Output::Text),
            None => (End::Seconds(seconds), Output::Json),
        };
        let test = Test::new(Ipv4Addr::LOCALHOST, row.workload, end);
        let congestion = row.end.is_none().then(|| congestion.to_owned());
        Test { port: self.port, congestion, output, ..test }
    }

    /// Runs a client, and measures both ends from outside.
    fn transfer(&self, test: &Test) -> Result<Figures> {
        self.server.usage().reset_peak();
        let limit = GRACE + Duration::from_secs(test.seconds().into());
        let seen = Seen::of(&self.server, self.program.client(None, test), limit, PAUSE)?;
        let printed = Printed { client: seen.client.stdout.clone(), ..Printed::default() };
        let report = self.program.program.read(test, &printed);
        Ok(seen.figures(&report.map_err(|error| seen.client.blame(error))?))
    }

    /// Runs a client for its wall time.
    fn start_to_end(&self, test: &Test) -> Result<Figures> {
        let wall = process::wall_time(self.program.client(None, test))?;
        thread::sleep(BETWEEN_STARTS);
        Ok(Figures::from_iter([(Metric::Wall, wall.as_secs_f64())]))
    }
}

/// The congestion control that every server and its client take.
pub(super) fn common_congestion(programs: &[Served]) -> Result<String> {
    congestion::first_taken(|name| {
        programs.iter().try_for_each(|served| {
            let test = served.test(&ROWS[0], 0, name);
            let test = Test { end: End::Bytes(64 << 10), ..test };
            process::patiently(|| served.transfer(&test)).map(drop)
        })
    })
}

/// What is run, how often and how long.
struct Transfers {
    programs: Vec<Served>,
    rounds: u32,
    seconds: u32,
    congestion: String,
}

/// A row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    /// Its name in tables.
    pub(super) name: &'static str,
    /// What is sent.
    pub(super) workload: Workload,
    /// What ends a test whose wall time counts; none: seconds end it, and its rate counts.
    end: Option<End>,
}

impl fmt::Display for Transfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Benchmark for Transfers {
    type Job = Transfer;

    fn rounds(&self, row: &Transfer) -> u32 {
        // A start is short, so that even a quick comparison has enough of them.
        if row.end.is_some() { self.rounds.max(LEAST_STARTS) } else { self.rounds }
    }

    fn candidates(&self, _row: &Transfer) -> Vec<Candidate> {
        let parts = [Part::Ours, Part::Installed].into_iter().chain(iter::repeat(Part::Peer));
        let programs = self.programs.iter().map(|served| served.program.clone());
        programs.zip(parts).map(|(program, part)| Candidate::new(program, part)).collect()
    }

    fn run(&self, candidate: &Candidate, row: &Transfer) -> Result<Result<Figures>> {
        let path = &candidate.program.description.path;
        let mut programs = self.programs.iter();
        let served = programs.find(|served| served.program.description.path == *path);
        let served = served.context("it has no server")?;
        let test = served.test(row, self.seconds, &self.congestion);
        let figures = process::patiently(|| {
            if row.end.is_none() { served.transfer(&test) } else { served.start_to_end(&test) }
        });
        figures.with_context(|| format!("{} failed", candidate.name)).map(Ok)
    }

    fn show(&self, row: &JobRow<Transfer>) {
        match row.job.end {
            None => row.show(Metric::Rate, 1e-9, "Gbit/s"),
            Some(_) => row.show(Metric::Wall, 1e3, "ms"),
        }
    }
}

/// All rows.
pub(super) const ROWS: [Transfer; 5] = [
    Transfer { name: TCP_ONE_STREAM, workload: Workload::tcp(1), end: None },
    Transfer {
        name: "TCP reverse",
        workload: Workload::tcp(1).towards(Direction::Reverse),
        end: None,
    },
    Transfer { name: "TCP four streams", workload: Workload::tcp(4), end: None },
    Transfer { name: "UDP 1460 B unlimited", workload: Workload::datagrams(1460), end: None },
    Transfer { name: START_UP, workload: Workload::tcp(1), end: Some(End::Bytes(1 << 20)) },
];
const TCP_ONE_STREAM: &str = "TCP one stream";
const START_UP: &str = "1 MiB over TCP, start to end";

const PROMISES: [Promise<Transfer>; 2] = [
    Promise::new(
        "TCP one stream >= 1.00 x iperf3",
        |row| row.name == TCP_ONE_STREAM,
        Value::Ratio(Part::Ours, Part::Installed, Metric::Rate),
    ),
    Promise::new(
        "1 MiB test <= 15 ms wall (median)",
        |row| row.name == START_UP,
        Value::Median(Metric::Wall, 1e3),
    ),
];

const LAYOUT: Layout<'static, Transfer> =
    Layout { keys: &[("row", Align::Left)], key: |row| vec![row.name.to_owned()], missing: "" };

const COLUMNS: [Column; 4] = [
    Column { head: "Gbit/s received", cell: Cell::Number(Metric::Rate, 1e-9, 2) },
    Column {
        head: "CPU s/GB client + server",
        cell: Cell::Pair(Metric::ClientCpu, Metric::ServerCpu, 1e9, 3),
    },
    Column {
        head: "peak MiB client + server",
        cell: Cell::Pair(Metric::ClientMemory, Metric::ServerMemory, 1.0 / 1_048_576.0, 1),
    },
    Column { head: "wall ms", cell: Cell::Number(Metric::Wall, 1e3, 1) },
];

const RATIOS: [(&str, Metric); 4] = [
    ("Gbit/s", Metric::Rate),
    ("CPU s/GB, both", Metric::Cpu),
    ("peak MiB, both", Metric::BothMemory),
    ("wall", Metric::Wall),
];

const LEAST_STARTS: u32 = 11;
/// A server is at rest when the next client starts.
const BETWEEN_STARTS: Duration = Duration::from_millis(50);
/// What a server gets to finish a test.
const PAUSE: Duration = Duration::from_millis(50);
/// How much longer than asked a test may take.
const GRACE: Duration = Duration::from_secs(20);

#[cfg(test)]
mod tests {
    use testbed::promise;
    use testbed::rounds::Entry;

    use super::*;

    fn row(job: Transfer, metric: Metric, ours: [f64; 2], theirs: [f64; 2]) -> JobRow<Transfer> {
        let entry = |program: &str, part, values: [f64; 2]| {
            let figures = values.map(|value| Figures::from_iter([(metric, value)]));
            Entry { outcome: Ok(figures.to_vec()), ..Entry::new(program, part) }
        };
        let entries =
            vec![entry("linerate 1", Part::Ours, ours), entry("iperf 3", Part::Installed, theirs)];
        JobRow { job, entries }
    }

    #[test]
    fn promises_are_kept_or_missed() {
        let lines = |rate: f64, wall: f64| -> Vec<String> {
            let rows = [
                row(ROWS[0], Metric::Rate, [rate; 2], [40.0; 2]),
                row(ROWS[4], Metric::Wall, [wall; 2], [0.009; 2]),
            ];
            let outcomes = promise::check(&PROMISES, &rows, |_| String::new());
            outcomes.iter().map(ToString::to_string).collect()
        };
        let kept = [
            "kept: TCP one stream >= 1.00 x iperf3: 1.25",
            "kept: 1 MiB test <= 15 ms wall (median): 5.00",
        ];
        assert_eq!(lines(50.0, 0.005), kept);
        assert!(lines(30.0, 0.016).iter().all(|line| line.starts_with("MISSED")));
    }
}
