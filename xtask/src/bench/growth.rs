//! `bench growth`: what a test takes as its streams become more; not how fast they are, which
//! `bench streams` compares.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use testbed::markdown::{Align, Table};
use testbed::process::Running;
use testbed::promise::Outcome;

use super::flags::{Strict, ours, publish};
use super::loopback::{ROWS, Served};

/// Opens more and more streams over loopback, and reads what each takes
#[derive(Debug, Args)]
pub(super) struct Growth {
    /// A linerate to use in place of the one that is built here
    #[arg(long, value_name = "PATH")]
    linerate: Option<PathBuf>,
    /// Numbers of streams
    #[arg(long, value_name = "N,..", value_delimiter = ',', default_values_t = [1_000, 10_000, 50_000], value_parser = clap::value_parser!(u32).range(1..=131_070))]
    counts: Vec<u32>,
    /// Seconds of each test
    #[arg(long, default_value_t = 2, value_name = "S", value_parser = clap::value_parser!(u32).range(1..=600))]
    time: u32,
    /// Write the table to a file too
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    #[command(flatten)]
    strict: Strict,
}

impl Growth {
    pub(super) fn run(self) -> Result<String> {
        let path = ours(self.linerate.as_ref())?;
        let base = look_at(&path, 1, self.time)?.map_err(|why| anyhow::anyhow!(why))?;
        let (mut table, mut outcomes) = (Table::new(HEAD), Vec::new());
        for count in self.counts.iter().copied() {
            let streams = count.to_string();
            match look_at(&path, count, self.time)? {
                Ok(taken) => {
                    table.push(taken.cells(&streams, count, &base).each_ref().map(String::as_str));
                    outcomes.extend(taken.promises(count));
                }
                // This machine has too little for so many.
                Err(why) => table.push([&streams, &why, "", "", "", ""]),
            }
        }
        publish(&table.to_string(), self.markdown.as_ref())?;
        self.strict.sum_up(&outcomes)
    }
}

/// What a test took.
struct Taken {
    /// Seconds from the first connect until all streams were open.
    opening: f64,
    /// Bytes that the client and the server had in memory at the peak.
    memory: [u64; 2],
    /// Bytes of the record in a file that is packed.
    record: u64,
    /// Seconds from the start of the client to its end.
    wall: f64,
}

impl Taken {
    /// Memory is what one stream adds to the test of one.
    fn cells(&self, streams: &str, count: u32, base: &Self) -> [String; 6] {
        let each = |side: usize| {
            let more = self.memory[side].saturating_sub(base.memory[side]);
            format!("{:.1}", more as f64 / 1e3 / f64::from(count))
        };
        [
            streams.to_owned(),
            format!("{:.2}", self.opening),
            each(0),
            each(1),
            format!("{:.2}", self.record as f64 / 1e6),
            format!("{:.1}", self.wall),
        ]
    }

    fn promises(&self, count: u32) -> [Outcome; 2] {
        let size = Some(self.record as f64 / 1e6);
        let each = Some(self.opening * 1e6 / f64::from(count));
        [
            Outcome::new(format!("{count} streams: record <= 10 MB"), size),
            Outcome::new(format!("{count} streams: opening <= 200 us each"), each),
        ]
    }
}

/// One test of `count` streams; or the sentence that says why it cannot be.
fn look_at(path: &Path, count: u32, seconds: u32) -> Result<Result<Taken, String>> {
    let served = Served::start(path)?;
    let port = served.test(&ROWS[0], seconds, "").port;
    let record =
        std::env::temp_dir().join(format!("linerate-growth-{}.json.gz", std::process::id()));
    let mut client = Command::new(path);
    client.args(["test", "127.0.0.1", "--tcp", "--send", "--verbose", "--port"]);
    client.args([port.to_string(), "-P".to_owned(), count.to_string()]);
    client.args(["-t".to_owned(), format!("{seconds}s"), "-o".to_owned()]).arg(&record);
    let began = std::time::Instant::now();
    let client = Running::captured(client)?.finish(GRACE + Duration::from_secs(seconds.into()))?;
    let wall = began.elapsed().as_secs_f64();
    if !client.has_measured() {
        return Ok(Err(client.last_line().to_owned()));
    }
    let there = served.server.usage().peak_memory().context("the server has ended")?;
    let size = std::fs::metadata(&record).context("there is no record")?.len();
    std::fs::remove_file(&record).context("cannot remove the record")?;
    let opening = opening(&client.stderr).context("the client does not say how long it opened")?;
    let memory = [client.peak_memory, there];
    Ok(Ok(Taken { opening, memory, record: size, wall }))
}

/// The seconds in "N streams opened in S s".
fn opening(text: &str) -> Option<f64> {
    let (_, rest) = text.split_once(" opened in ")?;
    rest.split_whitespace().next()?.parse().ok()
}

const HEAD: [(&str, Align); 6] = [
    ("streams", Align::Right),
    ("s to open", Align::Right),
    ("kB a stream, client", Align::Right),
    ("kB a stream, server", Align::Right),
    ("MB packed record", Align::Right),
    ("s in all", Align::Right),
];
/// How much longer than asked a test may take.
const GRACE: Duration = Duration::from_secs(120);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_read_from_what_the_client_says() {
        assert_eq!(opening("x\n1,000 streams opened in 0.125 s\n"), Some(0.125));
        assert_eq!(opening("1 stream"), None);
    }
}
