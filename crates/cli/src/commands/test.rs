//! `linerate test`.

use std::process::ExitCode;

use anyhow::Context;
use campaign::search::{Fastest, Repeat};
use campaign::{Row, Runner, Search};
use linux::event::StopSignals;
use measurement::TestPlan;
use report::export::{Export, Table};
use report::screen::{Screen, Shape};
use session::client::{Request, Watching};

use crate::flags::TestFlags;
use crate::plan::plans;
use crate::progress::{Detail, Progress};
use crate::results::{finish, finish_rows};
use crate::rows::Rows;
use crate::{terminal, typed};

pub(crate) fn run(flags: &TestFlags) -> anyhow::Result<ExitCode> {
    let plans = plans(flags)?;
    let Some(first) = plans.first().cloned() else { return Ok(ExitCode::SUCCESS) };
    let most = plans.iter().map(TestPlan::streams_in_all).max().unwrap_or(0);
    linux::host::raise_file_limit_to(usize::try_from(most).unwrap_or(usize::MAX) + OWN_FILES);
    let interrupts = StopSignals::open().context("cannot handle signals")?;
    let (format, file) = (flags.output.format.or(&Table), flags.output.output.as_deref());
    let mut progress = progress(flags, &plans, format);
    let mut runner = Runner::new(request(flags, first), Some(&interrupts), &mut progress);
    runner.observed.clone_from(&flags.rows.observe);
    let results = runner.search(&mut *search(flags, plans));
    match progress.into_rows() {
        Some(rows) => finish_rows(&results, rows, flags.output.verbose, file),
        None => finish(&results, format, file),
    }
}

/// The table is printed row by row; other formats when all has ended.
fn progress(flags: &TestFlags, plans: &[TestPlan], format: &dyn Export) -> Progress {
    let (output, repeat) = (&flags.output, flags.rows.repeat);
    let count = plans.len() * usize::try_from(repeat).unwrap_or(1);
    let progress = Progress::new(Detail::from_flags(output.quiet, output.verbose)).of(count);
    if format.name() != Table.name() {
        return progress;
    }
    let shape = Shape { plans, probed: flags.rows.latency, repeated: repeat > 1 };
    let screen = Screen::new(terminal::width(), &shape, typed::command());
    progress.with_rows(Rows::new(screen, count, repeat, output.quiet))
}

/// The strategy that the flags choose.
fn search(flags: &TestFlags, plans: Vec<TestPlan>) -> Box<dyn Search> {
    let probe_every = flags.rows.latency.then_some(flags.rows.probe_every);
    let rows = plans.into_iter().map(|plan| Row { plan, probe_every }).collect();
    if flags.stream.wants_the_fastest() {
        Box::new(Fastest::new(rows, flags.rows.repeat))
    } else {
        Box::new(Repeat::new(rows, flags.rows.repeat))
    }
}

fn request(flags: &TestFlags, plan: TestPlan) -> Request {
    let mut request = flags.server.request(plan, flags.stream.cpus.as_ref(), &flags.output.tag);
    request.options.perf = flags.rows.profile.access();
    if flags.rows.no_evidence {
        request.options.watching = Watching::Nothing;
    }
    request
}

/// Beside those of the streams.
const OWN_FILES: usize = 256;
