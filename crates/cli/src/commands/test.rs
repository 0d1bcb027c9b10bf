//! `linerate test`.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Context;
use campaign::search::{Fastest, Repeat};
use campaign::{Monitor, PlannedRow, Runner, Search};
use linux::event::StopSignals;
use measurement::{TestPlan, Transport};
use report::export::{Export, Table};
use report::screen::{Screen, Shape};
use session::client::{Request, Watching};

use crate::flags::TestFlags;
use crate::plan::plans;
use crate::progress::Progress;
use crate::rows::Rows;
use crate::{terminal, typed};

pub(crate) fn run(flags: &TestFlags) -> anyhow::Result<ExitCode> {
    let plans = plans(flags)?;
    let requirements = flags.output.requirements.of_rows(&plans, flags.rows.latency)?;
    flags.output.check()?;
    let Some(first) = plans.first().cloned() else { return Ok(ExitCode::SUCCESS) };
    let most = plans.iter().map(TestPlan::streams_in_all).max().unwrap_or(0);
    linux::host::raise_file_limit_to(usize::try_from(most).unwrap_or(usize::MAX) + OWN_FILES);
    if let Some(line) = flood(flags, &plans) {
        // What is said here is only a remark.
        _ = writeln!(anstream::stderr(), "linerate: {line}");
    }
    let interrupts = StopSignals::open().context("cannot handle signals")?;
    let is_table = flags.output.format.or(&Table).name() == Table.name();
    let mut progress = is_table.then(|| progress(flags, &plans));
    let mut monitor = flags.output.monitor(&Table);
    let shown: &mut dyn Monitor = match &mut progress {
        Some(progress) => progress,
        None => &mut *monitor,
    };
    let mut runner = Runner::new(request(flags, first), Some(&interrupts), shown);
    runner.observed.clone_from(&flags.rows.observe);
    runner.experiments = u32::from(!flags.rows.no_probe_cause && !flags.rows.no_evidence);
    let mut results = runner.search(&mut *search(flags, plans));
    let mut finish = flags.output.finish("test", &Table, requirements);
    finish.rows = progress.and_then(Progress::into_rows);
    finish.print(&mut results)
}

/// The table is printed row by row; other formats when all has ended.
fn progress(flags: &TestFlags, plans: &[TestPlan]) -> Progress {
    let repeat = flags.rows.repeat;
    let count = plans.len() * usize::try_from(repeat).unwrap_or(1);
    let unit = flags.unit.unwrap_or_default();
    let shape = Shape { plans, probed: flags.rows.latency, repeated: repeat > 1, unit };
    let screen = Screen::new(terminal::width(), &shape, typed::command());
    let has_intervals = flags.amount.interval.is_some() && !flags.output.quiet;
    let rows = Rows::new(screen, count, repeat, has_intervals);
    Progress::new(flags.output.detail()).of(count).with_rows(rows)
}

/// A remark on UDP without any limit.
fn flood(flags: &TestFlags, plans: &[TestPlan]) -> Option<&'static str> {
    let is_flood = plans.iter().any(|plan| plan.transport == Transport::Udp)
        && flags.stream.rate.is_some_and(|rate| rate.bits_per_second() == 0);
    (is_flood && !flags.output.quiet)
        .then_some("-b 0: UDP is sent as fast as possible, whatever the path passes")
}

/// The strategy that the flags choose.
fn search(flags: &TestFlags, plans: Vec<TestPlan>) -> Box<dyn Search> {
    let probe_every = flags.rows.latency.then_some(flags.rows.probe_every);
    let rows =
        plans.into_iter().map(PlannedRow::of_plan).map(|row| PlannedRow { probe_every, ..row });
    // As with iperf3, -b 0 is unlimited.
    let is_open = flags.stream.rate.is_none();
    let rows = rows.map(|row| if is_open { row.at_the_rate_without_loss() } else { row }).collect();
    if flags.stream.wants_the_fastest() {
        Box::new(Fastest::new(rows, flags.rows.repeat))
    } else {
        Box::new(Repeat::new(rows, flags.rows.repeat))
    }
}

/// To carry out `plan` as the flags say.
pub(super) fn request(flags: &TestFlags, plan: TestPlan) -> Request {
    let mut request = flags.server.request(plan, flags.stream.cpus.as_ref(), &flags.output.tag);
    request.options.perf = flags.rows.profile.access();
    if flags.rows.no_evidence {
        request.options.watching = Watching::Nothing;
    }
    request
}

/// Beside those of the streams.
const OWN_FILES: usize = 256;
