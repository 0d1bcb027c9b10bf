//! Runs the plans of all rows and prints what came of them.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use campaign::{Beside, Observed, run_beside, run_observed};
use linux::event::StopSignals;
use measurement::outcome::Ending;
use measurement::{RecordSet, TestPlan, TestRecord};
use session::SessionError;
use session::client::{Request, run as run_test};

use crate::exit;
use crate::output::{self, Format};
use crate::progress::{Detail, Progress};

/// How rows are run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner<'a> {
    /// How often each.
    pub(crate) repeat: u32,
    /// Time from one probe beside them to the next; none: there is no probe.
    pub(crate) probe_every: Option<Duration>,
    /// Further hosts that are watched.
    pub(crate) observed: &'a [Observed],
    /// What is shown meanwhile.
    pub(crate) detail: Detail,
}

impl Manner<'_> {
    /// Once each, without a probe.
    pub(crate) const fn once(detail: Detail) -> Self {
        Self { repeat: 1, probe_every: None, observed: &[], detail }
    }
}

/// What came of all rows: the records, and the error that ended them early.
pub(crate) struct Rows {
    pub(crate) records: RecordSet,
    pub(crate) error: Option<SessionError>,
    /// What was not run since the one before it ended early.
    left: Vec<String>,
}

impl Rows {
    /// Of `plans` that are not to be run any more.
    pub(crate) fn not_run(plans: &[TestPlan]) -> Self {
        let left = plans.iter().map(|plan| title(plan, 0, 1)).collect();
        Self { records: RecordSet::new(Vec::new()), error: None, left }
    }

    /// Whether all of them ran to their end.
    pub(crate) fn is_whole(&self) -> bool {
        let completed = |record: &TestRecord| record.outcome.ending == Ending::Completed;
        self.error.is_none() && self.records.records.iter().all(completed)
    }

    /// Adds rows that ran after these.
    pub(crate) fn append(&mut self, later: Self) {
        self.records.records.extend(later.records.records);
        self.error = self.error.take().or(later.error);
        self.left.extend(later.left);
    }
}

/// Runs every plan `repeat` times, in turn, so that a drift hits all rows alike.
pub(crate) fn run_rows(
    plans: &[TestPlan],
    manner: Manner<'_>,
    request: impl Fn(&TestPlan) -> Request,
    interrupts: Option<&StopSignals>,
) -> Rows {
    let Manner { repeat, probe_every, observed, detail } = manner;
    let mut records = Vec::new();
    let mut error = None;
    let mut runs = (0..repeat).flat_map(|round| plans.iter().map(move |plan| (plan, round)));
    for (plan, round) in runs.by_ref() {
        let mut progress = Progress::new(title(plan, round, repeat), detail);
        let patience = if records.is_empty() { Duration::ZERO } else { TURNAROUND };
        let request = request(plan);
        let mut test = || run_patiently(&request, &mut progress, interrupts, patience);
        let mut probed = || match probe_every.map(|every| Beside::new(&request, every)) {
            Some(Ok(beside)) => run_beside(&beside, interrupts, &mut test),
            // The time was checked when it was read.
            None | Some(Err(_)) => test(),
        };
        let result = watched(observed, &request, interrupts, &mut probed);
        match result {
            Ok(mut record) => {
                campaign::judge(&mut record);
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
        let summary =
            |plan| campaign::summary(plan, report::terminal::row_of(plan), &records.records);
        records.summaries = plans.iter().filter_map(summary).collect();
    }
    Rows { records, error, left }
}

/// Runs `test` while further hosts are watched.
fn watched(
    observed: &[Observed],
    request: &Request,
    interrupts: Option<&StopSignals>,
    test: &mut dyn FnMut() -> Result<TestRecord, SessionError>,
) -> Result<TestRecord, SessionError> {
    match observed {
        [] => test(),
        [first, others @ ..] => {
            let inner = || watched(others, request, interrupts, test);
            run_observed(first, request, interrupts, inner)
        }
    }
}

/// Runs one test; tries again while the server is still busy with the one before. An
/// iperf3 even closes its port between two tests (clause 2.6 of its protocol).
pub(crate) fn run_patiently(
    request: &Request,
    progress: &mut Progress,
    interrupts: Option<&StopSignals>,
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
pub(crate) fn finish(rows: &Rows, format: Format, file: Option<&Path>) -> anyhow::Result<ExitCode> {
    if !rows.records.records.is_empty() {
        output::print(&rows.records, format)?;
        if let Some(file) = file {
            output::write_file(&rows.records, file)?;
        }
    }
    let last = rows.records.records.last();
    let code = match &rows.error {
        Some(error) => exit::report_session(error),
        None => last.map_or(ExitCode::SUCCESS, |_| exit::of_records(&rows.records.records)),
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

fn title(plan: &TestPlan, round: u32, repeat: u32) -> String {
    let title = report::terminal::title(plan);
    if repeat > 1 { format!("{title} {}/{repeat}", round + 1) } else { title }
}

/// How long a server may take between two tests.
pub(crate) const TURNAROUND: Duration = Duration::from_secs(2);
