//! `linerate test`.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;
use linux::event::Interrupts;
use measurement::outcome::Ending;
use measurement::record::RepeatSummary;
use measurement::{BitRate, RecordSet, TestPlan, TestRecord};
use session::SessionError;
use session::client::{Manners, Request, run as run_test};

use crate::exit;
use crate::flags::TestFlags;
use crate::output::{self, Format};
use crate::plan::plans;
use crate::progress::{Detail, Progress};

pub(crate) fn run(flags: &TestFlags) -> anyhow::Result<ExitCode> {
    let plans = plans(flags)?;
    let most = plans.iter().map(TestPlan::streams_in_all).max().unwrap_or(0);
    linux::host::raise_file_limit_to(usize::try_from(most).unwrap_or(usize::MAX) + OWN_FILES);
    let interrupts = Interrupts::take().context("cannot handle signals")?;
    let detail = match (flags.output.quiet, flags.output.verbose) {
        (true, _) => Detail::Quiet,
        (_, true) => Detail::Intervals,
        _ => Detail::Bar,
    };
    let template = |plan: &TestPlan| request(flags, plan.clone());
    if flags.stream.wants_the_fastest() {
        return run_the_fastest(flags, &plans, template, detail, &interrupts);
    }
    let rows = run_rows(&plans, flags.rows.repeat, template, detail, Some(&interrupts));
    finish(&rows, format(flags.output.json), flags.output.output.as_deref())
}

/// The same by the engines that short tests find to be the fastest.
fn run_the_fastest(
    flags: &TestFlags,
    plans: &[TestPlan],
    request: impl Fn(&TestPlan) -> Request,
    detail: Detail,
    interrupts: &Interrupts,
) -> anyhow::Result<ExitCode> {
    let mut chosen = Vec::with_capacity(plans.len());
    for plan in plans {
        let title = format!("{}: trying engines", report::terminal::title(plan));
        let detail = if detail == Detail::Quiet { detail } else { Detail::Bar };
        let choice = campaign::choose_engines(plan, |plan| {
            let mut progress = Progress::new(title.clone(), detail);
            run_patiently(&request(plan), &mut progress, Some(interrupts), TURNAROUND)
        });
        match choice {
            Ok(choice) => chosen.push((choice.applied_to(plan), choice.trials)),
            Err(error) => return Ok(exit::report_session(&error)),
        }
    }
    let plans: Vec<_> = chosen.iter().map(|(plan, _)| plan.clone()).collect();
    let mut rows = run_rows(&plans, flags.rows.repeat, request, detail, Some(interrupts));
    for record in &mut rows.records.records {
        let trials = chosen.iter().find(|(plan, _)| *plan == record.plan);
        record.engine_trials = trials.map(|(_, trials)| trials.clone()).unwrap_or_default();
    }
    finish(&rows, format(flags.output.json), flags.output.output.as_deref())
}

/// What came of all rows: the records, and the error that ended them early.
pub(crate) struct Rows {
    pub(crate) records: RecordSet,
    pub(crate) error: Option<SessionError>,
    /// What was not run since the one before it ended early.
    left: Vec<String>,
}

/// Runs every plan `repeat` times, in turn, so that a drift hits all rows alike.
pub(crate) fn run_rows(
    plans: &[TestPlan],
    repeat: u32,
    request: impl Fn(&TestPlan) -> Request,
    detail: Detail,
    interrupts: Option<&Interrupts>,
) -> Rows {
    let mut records = Vec::new();
    let mut error = None;
    let mut runs = (0..repeat).flat_map(|round| plans.iter().map(move |plan| (plan, round)));
    for (plan, round) in runs.by_ref() {
        let mut progress = Progress::new(title(plan, round, repeat), detail);
        let patience = if records.is_empty() { Duration::ZERO } else { TURNAROUND };
        match run_patiently(&request(plan), &mut progress, interrupts, patience) {
            Ok(record) => {
                progress.ended(&record);
                let goes_on = record.outcome.ending == Ending::Completed;
                records.push(record);
                if !goes_on {
                    break;
                }
            }
            Err(reason) => {
                error = Some(reason);
                break;
            }
        }
    }
    let left = runs.map(|(plan, round)| title(plan, round, repeat)).collect();
    let mut records = RecordSet::new(records);
    if repeat > 1 {
        records.summaries =
            plans.iter().filter_map(|plan| summary(plan, &records.records)).collect();
    }
    Rows { records, error, left }
}

/// Runs one test; tries again while the server is still busy with the one before. An
/// iperf3 even closes its port between two tests (clause 2.6 of its protocol).
fn run_patiently(
    request: &Request,
    progress: &mut Progress,
    interrupts: Option<&Interrupts>,
    patience: Duration,
) -> Result<TestRecord, SessionError> {
    let deadline = Instant::now() + patience;
    loop {
        match run_test(request, progress, interrupts) {
            Err(error) if error.may_pass() && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(20));
            }
            result => return result,
        }
    }
}

/// Prints what there is, then the error if there is one.
pub(crate) fn finish(
    rows: &Rows,
    format: Format,
    file: Option<&std::path::Path>,
) -> anyhow::Result<ExitCode> {
    if !rows.records.records.is_empty() {
        output::print(&rows.records, format)?;
        if let Some(file) = file {
            output::write_file(&rows.records, file)?;
        }
    }
    let last = rows.records.records.last();
    let code = match &rows.error {
        Some(error) => exit::report_session(error),
        None => last.map_or(ExitCode::SUCCESS, exit::of_record),
    };
    // Who got nothing at all does not wonder what is missing.
    if last.is_some() && !rows.left.is_empty() {
        exit::say_not_run(&rows.left);
    }
    Ok(code)
}

pub(crate) const fn format(json: bool) -> Format {
    if json { Format::Json } else { Format::Table }
}

fn request(flags: &TestFlags, plan: TestPlan) -> Request {
    Request {
        host: flags.host.clone(),
        port: flags.port,
        family: flags.family.into(),
        bind: flags.bind,
        connect_timeout: flags.connect_timeout,
        cpus: flags.stream.cpus.clone().map(|cpus| cpus.0).unwrap_or_default(),
        tags: flags.output.tag.iter().cloned().collect::<BTreeMap<_, _>>(),
        plan,
        manners: Manners::default(),
    }
}

fn title(plan: &TestPlan, round: u32, repeat: u32) -> String {
    let title = report::terminal::title(plan);
    if repeat > 1 { format!("{title} {}/{repeat}", round + 1) } else { title }
}

/// The spread of a row's delivered rates.
fn summary(plan: &TestPlan, records: &[TestRecord]) -> Option<RepeatSummary> {
    let of_row = records
        .iter()
        .filter(|record| record.plan == *plan && record.outcome.ending == Ending::Completed);
    let mut rates: Vec<BitRate> = of_row.filter_map(|record| record.outcome.rate()).collect();
    rates.sort_unstable();
    Some(RepeatSummary {
        row: report::terminal::row_of(plan),
        runs: u32::try_from(rates.len()).unwrap_or(u32::MAX),
        median: median(&rates)?,
        slowest: *rates.first()?,
        fastest: *rates.last()?,
    })
}

fn median(sorted: &[BitRate]) -> Option<BitRate> {
    let middle = sorted.len() / 2;
    let upper = sorted.get(middle)?.bits_per_second();
    if sorted.len() % 2 == 1 {
        return Some(BitRate::from_bits_per_second(upper));
    }
    Some(BitRate::from_bits_per_second(sorted[middle - 1].bits_per_second().midpoint(upper)))
}

/// Beside those of the streams.
const OWN_FILES: usize = 256;
/// How long a server may take between two tests.
const TURNAROUND: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(values: &[u64]) -> Vec<BitRate> {
        values.iter().copied().map(BitRate::from_bits_per_second).collect()
    }

    #[test]
    fn the_median_is_the_middle_or_the_mean_of_the_two_middles() {
        assert_eq!(median(&rates(&[1, 2, 9])), Some(BitRate::from_bits_per_second(2)));
        assert_eq!(median(&rates(&[1, 2, 4, 9])), Some(BitRate::from_bits_per_second(3)));
        assert_eq!(median(&[]), None);
    }
}
