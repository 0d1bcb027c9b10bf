//! `bench memory`: what a server keeps in memory, idle and in the middle of a test.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;
use testbed::markdown::{Align, Table};
use testbed::process::Running;
use testbed::promise::Outcome;

use super::flags::{Strict, ours, publish, require};
use super::loopback::{ROWS, Served, Transfer, common_congestion};
use crate::static_binary;
use crate::workspace::Workspace;

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
    #[command(flatten)]
    strict: Strict,
}

impl Memory {
    pub(super) fn run(self) -> Result<String> {
        let subjects = self.subjects()?;
        let servers: Result<Vec<_>> = subjects.iter().map(|one| Served::start(&one.path)).collect();
        let congestion = common_congestion(&servers?)?;
        let rows = ROWS.iter().take(4).filter(|row| row.workload.streams == 1);
        let (mut table, mut outcomes) = (Table::new(HEAD), Vec::new());
        for row in [None].into_iter().chain(rows.map(Some)) {
            for subject in &subjects {
                let (now, peak) = self.look_at(subject, row, &congestion)?;
                let (name, megabytes) = (name_of(row), |bytes: f64| format!("{bytes:.1}"));
                table.push([name, subject.name, &megabytes(now), &megabytes(peak)]);
                outcomes.extend(subject.is_ours.then(|| promise(subject.name, row, peak)));
            }
        }
        publish(&table.to_string(), self.markdown.as_ref())?;
        self.strict.sum_up(&outcomes)
    }

    /// Ours, the static one if it was built, and the installed iperf3.
    fn subjects(&self) -> Result<Vec<Subject>> {
        require(&["iperf3"])?;
        let path = ours(self.linerate.as_ref())?;
        let mut subjects = vec![Subject { name: "linerate", path, is_ours: true }];
        let built = static_binary::built(&Workspace::find()?);
        if let Some(path) = built.filter(|path| self.linerate.as_ref() != Some(path)) {
            subjects.push(Subject { name: "linerate, static", path, is_ours: true });
        }
        subjects.push(Subject { name: "iperf3", path: "iperf3".into(), is_ours: false });
        Ok(subjects)
    }

    /// Megabytes that a new server has now, and at the peak; in the middle of a test if there is
    /// one.
    fn look_at(
        &self,
        subject: &Subject,
        row: Option<&Transfer>,
        congestion: &str,
    ) -> Result<(f64, f64)> {
        let served = Served::start(&subject.path)?;
        let usage = served.server.usage();
        thread::sleep(CALM);
        let mut now = usage.resident_memory();
        if let Some(row) = row {
            let test = served.test(row, self.time, congestion);
            let client = Running::silent(served.program.client(None, &test))?;
            thread::sleep(Duration::from_secs(self.time.into()) / 2);
            now = usage.resident_memory();
            let client = client.finish(GRACE + Duration::from_secs(self.time.into()))?;
            ensure!(client.has_measured(), "a client of {} failed", subject.name);
        }
        let (now, peak) = now.zip(usage.peak_memory()).context("its server has ended")?;
        Ok((now as f64 / 1e6, peak as f64 / 1e6))
    }
}

/// A server that is looked at.
struct Subject {
    name: &'static str,
    path: PathBuf,
    is_ours: bool,
}

/// The promises `memory-idle` and `memory-with-a-stream`.
fn promise(subject: &str, row: Option<&Transfer>, peak: f64) -> Outcome {
    let limit = if row.is_some() { "with a stream <= 12 MB" } else { "without a test <= 6.5 MB" };
    Outcome::new(format!("{subject}, server, {}: {limit}", name_of(row)), Some(peak))
}

fn name_of(row: Option<&Transfer>) -> &'static str {
    row.map_or("idle", |row| row.name)
}

const HEAD: [(&str, Align); 4] = [
    ("server", Align::Left),
    ("program", Align::Left),
    ("MB resident", Align::Right),
    ("MB at the peak", Align::Right),
];
/// A server that has just started is not idle yet.
const CALM: Duration = Duration::from_millis(500);
/// How much longer than asked a test may take.
const GRACE: Duration = Duration::from_secs(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_with_a_stream_may_have_more_than_an_idle_one() {
        assert!(!promise("x", None, 8.0).kept());
        assert!(promise("x", Some(&ROWS[0]), 8.0).kept());
    }
}
