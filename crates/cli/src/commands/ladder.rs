//! `linerate ladder`.

mod frames;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use campaign::search::Repeat;
use campaign::{Ladder, PlannedRow, Results, Runner};
use linux::event::StopSignals;
use measurement::outcome::Ending;
use measurement::packets::PacketsRecord;
use measurement::{
    Direction, Heading, IntoMap, LadderRecord, Layer, StreamOptions, TestPlan, TestRecord,
};
use report::export::Export;
use report::ladder;

use crate::conclusion::Conclusion;
use crate::exit::UsageError;
use crate::flags::LadderFlags;
use crate::progress::{Detail, Progress};
use crate::{exit, output, terminal};

pub(crate) fn run(flags: &LadderFlags) -> anyhow::Result<ExitCode> {
    let format = flags.output.format.of_rows()?;
    let rows = rows(flags)?;
    if let Some(file) = &flags.output.output {
        output::check_writable(file)?;
    }
    let Some(first) = rows.first().map(|row| row.plan.clone()) else {
        return Ok(ExitCode::SUCCESS);
    };
    let interrupts = StopSignals::open().context("cannot handle signals")?;
    let request = flags.server.request(first.clone(), flags.cpus.as_ref(), &flags.output.tag);
    let detail = Detail::from_flags(flags.output.quiet, false);
    let mut progress = Progress::new(detail).of(rows.len());
    let mut runner = Runner::new(request, Some(&interrupts), &mut progress);
    let results = runner.search(&mut Repeat::once(rows));
    drop(progress);
    let frames = frames::measure(flags, &results, &interrupts);
    finish(flags, format, &first, &results, frames)
}

fn rows(flags: &LadderFlags) -> Result<Vec<PlannedRow>, UsageError> {
    let ladder = Ladder {
        direction: if flags.receive { Direction::Receive } else { Direction::Send },
        time: flags.time,
        streams: flags.streams,
        options: flags.packets.of(StreamOptions::default()),
        probe_every: PROBE_EVERY,
    };
    ladder.rows().map_err(|error| UsageError(error.to_string()))
}

/// Prints the record, and returns the exit code.
fn finish(
    flags: &LadderFlags,
    format: &'static dyn Export,
    plan: &TestPlan,
    results: &Results,
    frames: Result<PacketsRecord, String>,
) -> anyhow::Result<ExitCode> {
    let record = record(flags, plan, results, frames);
    let tests = &results.records.records;
    let conclusion = Conclusion {
        keeping: flags.store.keeping("ladder"),
        tests,
        is_empty: record.rungs.is_empty(),
        error: record.error.as_ref(),
        code: exit::of_records(tests, &[]),
        ..Conclusion::new(format, flags.output.output.as_deref())
    };
    conclusion.print(&record, |out| ladder::write(&record, terminal::width(), out))
}

fn record(
    flags: &LadderFlags,
    plan: &TestPlan,
    results: &Results,
    frames: Result<PacketsRecord, String>,
) -> LadderRecord {
    let records = &results.records.records;
    let is_whole = |record: &&TestRecord| record.outcome.ending == Ending::Completed;
    let ended = records.iter().take_while(is_whole).cloned();
    let tests: Vec<_> = Layer::MEASURED.into_iter().zip(ended).collect();
    let done = tests.len();
    let tags = flags.output.tag.iter().cloned().into_map();
    LadderRecord {
        heading: Heading::new(tags, records.first()),
        direction: plan.direction,
        streams: flags.streams,
        rungs: campaign::rungs(&tests, frames.as_ref().ok()),
        latency: campaign::ladder_latency(&tests),
        left_out: frames
            .err()
            .map(|why| format!("frames below UDP are not measured: {why}"))
            .into_iter()
            .collect(),
        error: exit::of_results(results, done, "layer"),
    }
}

const PROBE_EVERY: Duration = Duration::from_millis(10);
