//! `linerate test`.

use std::process::ExitCode;

use anyhow::Context;
use campaign::search::{Fastest, Repeat};
use campaign::{Row, Runner, Search};
use linux::event::StopSignals;
use measurement::TestPlan;
use session::client::{Request, Watching};

use crate::flags::TestFlags;
use crate::plan::plans;

pub(crate) fn run(flags: &TestFlags) -> anyhow::Result<ExitCode> {
    let plans = plans(flags)?;
    let requirements = flags.output.requirements.of_rows(&plans, flags.rows.latency)?;
    flags.output.check()?;
    let Some(first) = plans.first().cloned() else { return Ok(ExitCode::SUCCESS) };
    let most = plans.iter().map(TestPlan::streams_in_all).max().unwrap_or(0);
    linux::host::raise_file_limit_to(usize::try_from(most).unwrap_or(usize::MAX) + OWN_FILES);
    let interrupts = StopSignals::open().context("cannot handle signals")?;
    let mut monitor = flags.output.monitor();
    let mut runner = Runner::new(request(flags, first), Some(&interrupts), &mut *monitor);
    runner.observed.clone_from(&flags.rows.observe);
    let mut results = runner.search(&mut *search(flags, plans));
    flags.output.finish(requirements).print(&mut results)
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
    request.options.profile = flags.rows.profile.0;
    if flags.rows.no_evidence {
        request.options.watching = Watching::Nothing;
    }
    request
}

/// Beside those of the streams.
const OWN_FILES: usize = 256;
