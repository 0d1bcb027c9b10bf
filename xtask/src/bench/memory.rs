//! `bench memory`: what a server keeps in memory, idle and in the middle of a test.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use std::{fs, thread};

use anyhow::{Context, Result, ensure};
use clap::Args;

use super::congestion;
use super::dialect::Task;
use super::program::Program;
use super::promise::{self, Judged, Strictness};
use super::row::{ROWS, Row};
use crate::output::say;
use crate::workspace::Workspace;
use crate::{command, packages, static_binary};

/// Reads what servers of one test keep in memory, beside iperf3's
#[derive(Debug, Args)]
pub(super) struct Memory {
    /// A linerate to use in place of the one that is built here
    #[arg(long, value_name = "PATH")]
    linerate: Option<PathBuf>,
    /// Seconds of each test
    #[arg(long, default_value_t = 2, value_name = "S", value_parser = clap::value_parser!(u32).range(1..=600))]
    time: u32,
    /// Write the table to a file too
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Fail if a promise is missed
    #[arg(long)]
    strict: bool,
}

impl Memory {
    pub(super) fn run(self) -> Result<String> {
        let contenders = self.contenders()?;
        let servers: Result<Vec<_>> =
            contenders.iter().map(|one| Program::start(one.path.clone())).collect();
        let congestion = congestion::common(&servers?)?;
        let situations =
            [None].into_iter().chain(ROWS.iter().filter(|row| row.streams == 1).map(Some));
        let (mut report, mut judged) = (HEADING.to_owned(), Vec::new());
        for row in situations {
            for contender in &contenders {
                let found = self.find_out(contender, row.copied(), &congestion)?;
                // Writing to a String does not fail.
                _ = writeln!(report, "{}", found.line(contender, row));
                judged.extend(contender.is_ours.then(|| found.judge(contender, row)));
            }
        }
        say(format!("\n{report}"));
        if let Some(file) = &self.markdown {
            fs::write(file, &report).with_context(|| format!("cannot write {}", file.display()))?;
        }
        promise::verdict(&judged, Strictness::of(self.strict))
    }

    /// Ours, the static one if it was built, and the installed iperf3.
    fn contenders(&self) -> Result<Vec<Contender>> {
        ensure!(
            packages::is_there("iperf3"),
            "no iperf3; install it with `apt-get install iperf3`"
        );
        let workspace = Workspace::find()?;
        let ours = match &self.linerate {
            Some(path) => path.clone(),
            None => workspace.build_release()?,
        };
        let alone = static_binary::path(&workspace);
        let mut contenders = vec![Contender { name: "linerate", path: ours, is_ours: true }];
        if alone.is_file() {
            contenders.push(Contender { name: "linerate, static", path: alone, is_ours: true });
        }
        contenders.push(Contender { name: "iperf3", path: "iperf3".into(), is_ours: false });
        Ok(contenders)
    }

    /// Looks at a new server, in the middle of a test if there is one.
    fn find_out(&self, of: &Contender, row: Option<Row>, congestion: &str) -> Result<Found> {
        let program = Program::start(of.path.clone())?;
        let server = program.server();
        thread::sleep(CALM);
        let Some(row) = row else {
            let (now, peak) = (server.resident_memory(), server.peak_memory());
            return Found::of(now, peak).context("its server has ended");
        };
        let task = Task::Row { row, seconds: self.time, congestion };
        let mut client = program.client(task);
        let mut client = client.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        thread::sleep(Duration::from_secs(self.time.into()) / 2);
        let now = server.resident_memory();
        ensure!(command::has_measured(client.wait()?), "a client of {} failed", of.name);
        Found::of(now, server.peak_memory()).context("its server has ended")
    }
}

struct Contender {
    name: &'static str,
    path: PathBuf,
    is_ours: bool,
}

/// Megabytes that were resident.
#[derive(Clone, Copy, Debug)]
struct Found {
    now: f64,
    peak: f64,
}

impl Found {
    fn of(now: Option<u64>, peak: Option<u64>) -> Option<Self> {
        Some(Self { now: now? as f64 / 1e6, peak: peak? as f64 / 1e6 })
    }

    fn line(self, contender: &Contender, row: Option<&Row>) -> String {
        let Self { now, peak } = self;
        format!("| {} | {} | {now:.1} | {peak:.1} |", name(row), contender.name)
    }

    fn judge(self, contender: &Contender, row: Option<&Row>) -> Judged {
        let most = if row.is_some() { MOST_WITH_A_STREAM } else { MOST_IDLE };
        let text = format!("{}, server, {}: <= {most} MB", contender.name, name(row));
        Judged::new(text, Some(self.peak), |peak| peak <= most)
    }
}

fn name(row: Option<&Row>) -> &'static str {
    row.map_or("idle", |row| row.name)
}

const HEADING: &str = "\
| server | program | MB resident | MB at the peak |
|---|---|--:|--:|
";
/// What SPECIFICATION.md promises.
const MOST_IDLE: f64 = 6.0;
const MOST_WITH_A_STREAM: f64 = 12.0;
/// A server that has just started is not idle yet.
const CALM: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_with_a_stream_may_have_more_than_an_idle_one() {
        let contender = Contender { name: "x", path: PathBuf::new(), is_ours: true };
        let found = Found::of(Some(7_000_000), Some(8_000_000)).expect("both");
        assert!(!found.judge(&contender, None).kept());
        assert!(found.judge(&contender, Some(&ROWS[0])).kept());
        assert_eq!(found.line(&contender, None), "| idle | x | 7.0 | 8.0 |");
    }
}
