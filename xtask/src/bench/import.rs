//! `bench import`: what it takes to find the runs in a long log of another program.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;
use testbed::markdown::{Align, Table};
use testbed::process::Running;
use testbed::promise::Outcome;

use super::flags::{Strict, ours, publish};

/// Reads long logs of iperf3 by linerate import
#[derive(Debug, Args)]
pub(super) struct Import {
    /// A linerate to use in place of the one that is built here
    #[arg(long, value_name = "PATH")]
    linerate: Option<PathBuf>,
    /// Megabytes of each log
    #[arg(long, default_value_t = 100, value_name = "MB", value_parser = clap::value_parser!(u32).range(1..=500))]
    size: u32,
    /// Write the table to a file too
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    #[command(flatten)]
    strict: Strict,
}

impl Import {
    pub(super) fn run(self) -> Result<String> {
        let path = ours(self.linerate.as_ref())?;
        let (mut table, mut outcomes) = (Table::new(HEAD), Vec::new());
        for (name, log) in LOGS {
            let taken = look_at(&path, &log(self.size as usize * 1_000_000))?;
            let (seconds, megabytes) = (taken.seconds, taken.megabytes);
            table.push([name, &format!("{seconds:.2}"), &format!("{megabytes:.0}")]);
            outcomes.push(Outcome::new(format!("{name}: time <= 5 s"), Some(seconds)));
            outcomes.push(Outcome::new(format!("{name}: memory <= 200 MB"), Some(megabytes)));
        }
        publish(&table.to_string(), self.markdown.as_ref())?;
        self.strict.sum_up(&outcomes)
    }
}

/// What one log took.
struct Taken {
    seconds: f64,
    /// Memory at the peak.
    megabytes: f64,
}

fn look_at(path: &Path, log: &str) -> Result<Taken> {
    let file = std::env::temp_dir().join(format!("linerate-import-{}.txt", std::process::id()));
    fs::write(&file, log).context("cannot write the log")?;
    let mut command = Command::new(path);
    command.arg("import").arg(&file);
    let ended = Running::captured(command)?.finish(LONGEST);
    fs::remove_file(&file).context("cannot remove the log")?;
    let ended = ended?;
    ensure!(ended.stdout.contains(" in "), "no run was found: {}", ended.last_line());
    let megabytes = ended.peak_memory as f64 / 1e6;
    Ok(Taken { seconds: ended.took.as_secs_f64(), megabytes })
}

/// One client that ran for months.
fn long_run(bytes: usize) -> String {
    let mut log = heading(1);
    let mut at = 0_u32;
    while log.len() < bytes {
        let to = at + 1;
        _ = writeln!(log, "[  5] {at:>4}.00-{to}.00   sec  {ROW}    148 KBytes");
        at = to;
    }
    log
}

/// Days of a log with a run now and then.
fn other_lines(bytes: usize) -> String {
    let other =
        "Nov 25 01:57:30 host kernel: eth0: link is up, 1000 Mbit/s, full duplex\n".repeat(500);
    (1..).map(|port| other.clone() + &one_run(port)).take(1 + bytes / other.len()).collect()
}

/// Runs without anything between them; linerate reads the first 10,000.
fn short_runs(bytes: usize) -> String {
    (0..bytes / one_run(1).len())
        .map(|at| one_run(u16::try_from(at % 60_000).unwrap_or(1)))
        .collect()
}

fn one_run(port: u16) -> String {
    let rows = ["    148 KBytes", "             sender"]
        .map(|end| format!("[  5]   0.00-1.00   sec  {ROW}{end}\n"));
    heading(port) + &rows.concat()
}

fn heading(port: u16) -> String {
    format!(
        "Connecting to host 10.0.0.2, port 5201\n\
         [  5] local 10.0.0.1 port {port} connected to 10.0.0.2 port 5201\n\
         [ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n"
    )
}

/// A log by the least number of its bytes.
type Log = fn(usize) -> String;

const LOGS: [(&str, Log); 3] = [
    ("one long run", long_run),
    ("runs between other lines", other_lines),
    ("short runs", short_runs),
];
const ROW: &str = "15.1 MBytes   127 Mbits/sec    0";
const HEAD: [(&str, Align); 3] =
    [("log", Align::Left), ("s", Align::Right), ("MB in memory", Align::Right)];
/// For 100 MB.
const LONGEST: Duration = Duration::from_secs(300);
