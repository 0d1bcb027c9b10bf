//! Reports to open in a browser: of tests over loopback, and of a long one with many streams.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use measurement::plan::PlanDraft;
use measurement::record::{DirectionIntervals, StreamRecord};
use measurement::{
    ByteSize, Direction, RecordSet, Sample, StreamCounters, StreamSample, TestRecord, Timestamp,
    Transport, json,
};
use testbed::port;
use testbed::process::Running;

use crate::command;

/// Writes `NAME.html` for each report, and `expected.json` with the marks that each must have.
pub(super) fn write(linerate: &Path, pages: &Path) -> Result<()> {
    let port = port::free()?;
    let mut serve = Command::new(linerate);
    serve.args(["serve", "--bind", "127.0.0.1", "--quiet", "--port", &port.to_string()]);
    let mut server = Running::start(serve)?;
    port::await_listener(None, port, &mut server)?;
    let host = format!("127.0.0.1:{port}");
    let run = |words: &str| {
        let mut run = Command::new(linerate);
        let words = words.replace("HOST", &host);
        run.args(words.split(' ')).current_dir(pages).env("LINERATE_NO_STORE", "1");
        let ended = run.env("LINERATE_QUIET", "1").output().context("cannot run linerate")?;
        // An INVALID result is shown, too.
        ensure!(
            matches!(ended.status.code(), Some(0 | 3)),
            "linerate {words} ended with {}: {}",
            ended.status,
            String::from_utf8_lossy(&ended.stderr).trim()
        );
        Ok(())
    };
    TESTS.iter().try_for_each(|words| run(words))?;
    server.stop()?;
    write_long(&pages.join("long.json"))?;
    for (name, words, _) in REPORTS {
        let mut report = Command::new(linerate);
        report.arg("report").args(words.split(' ')).args(["--title", EVIL]);
        command::run(report.args(["-o", &format!("{name}.html")]).current_dir(pages))?;
    }
    let expected: serde_json::Map<_, _> = REPORTS
        .iter()
        .map(|(name, _, marks)| {
            let marks = marks.iter().map(|(mark, least)| ((*mark).to_owned(), (*least).into()));
            (name.to_string(), serde_json::Value::Object(marks.collect()))
        })
        .collect();
    let path = pages.join("expected.json");
    fs::write(&path, serde_json::Value::Object(expected).to_string())
        .with_context(|| format!("cannot write {}", path.display()))
}

/// A record of 10,000 intervals with 16 streams, each of another rate.
fn write_long(path: &Path) -> Result<()> {
    let mut draft = PlanDraft::new(Transport::Tcp, Direction::Send);
    draft.streams = STREAMS;
    let mut record = TestRecord::imported(draft.check()?, "a program");
    let block = ByteSize::from_bytes(131_072);
    record.streams = (1..=STREAMS).map(|id| StreamRecord::unknown(id, true, block)).collect();
    let mut bytes = vec![0; STREAMS as usize];
    record.samples = (0..=INTERVALS).map(|number| sample(number, &mut bytes)).collect();
    record.intervals = DirectionIntervals::between(&record.streams, &record.samples, 0);
    let mut file = std::io::BufWriter::new(fs::File::create(path)?);
    json::write(&RecordSet::new(vec![record]), &mut file)
        .with_context(|| format!("cannot write {}", path.display()))
}

/// The counters at a time, which have grown by another number for each stream.
fn sample(number: u64, bytes: &mut [u64]) -> Sample {
    let every = Duration::from_millis(100);
    let at = Timestamp::from_nanos(number * u64::try_from(every.as_nanos()).unwrap_or(u64::MAX));
    let streams = bytes.iter_mut().zip(1_u32..).map(|(bytes, id)| {
        // As noisy as a queue: a step of a linear congruential generator.
        *bytes += 500_000 + (number * 1_103_515_245 + u64::from(id) * 12_345) % 300_000;
        let counters = StreamCounters { bytes: *bytes, ..StreamCounters::default() };
        StreamSample { id, counters, tcp: None, udp: None }
    });
    Sample { at, streams: streams.collect() }
}

const STREAMS: u32 = 16;
const INTERVALS: u64 = 10_000;
/// Would be markup, if it were not a text.
const EVIL: &str = "</script><img src=x onerror=alert(1)> & a report";

/// What is typed; HOST is the server.
const TESTS: [&str; 7] = [
    "test HOST -t 1s -i 50ms --latency -o rows.json",
    "test HOST --tcp --send -P 4 -t 1s -i 50ms -o streams.json",
    "latency HOST -t 500ms -o latency.json",
    "search HOST --max-rate 100M --budget 5s -o search.json",
    "sweep HOST --udp --send --over rate=10M,20M,50M,100M -t 200ms -o sweep.jsonl",
    "test HOST --tcp --send --repeat 3 -t 200ms -o before.json",
    "test HOST --tcp --send --repeat 3 -t 200ms -o after.json",
];
/// Name, what it shows, and at least so many marks.
type Report = (&'static str, &'static str, &'static [(&'static str, u32)]);

const REPORTS: [Report; 5] = [
    (
        "rows",
        "rows.json",
        &[
            ("stamps", 4),
            ("tests", 4),
            ("charts", 8),
            ("points", 80),
            ("ribbons", 2),
            ("commands", 4),
        ],
    ),
    ("streams", "streams.json", &[("charts", 1), ("points", 90), ("commands", 1)]),
    (
        "loads",
        "latency.json search.json sweep.jsonl",
        &[("tests", 5), ("charts", 6), ("circles", 8)],
    ),
    ("compare", "after.json --before before.json", &[("tests", 3), ("intervals", 1)]),
    ("long", "long.json", &[("stamps", 1), ("charts", 1), ("points", 170_000)]),
];
