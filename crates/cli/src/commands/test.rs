//! `linerate test`.

use std::process::ExitCode;

use anyhow::Context;
use linux::event::StopSignals;
use measurement::TestPlan;
use session::client::{Request, Watching};

use crate::exit;
use crate::flags::TestFlags;
use crate::plan::plans;
use crate::progress::{Detail, Progress};
use crate::rows::{Manner, TURNAROUND, finish, format, run_patiently, run_rows};

pub(crate) fn run(flags: &TestFlags) -> anyhow::Result<ExitCode> {
    let plans = plans(flags)?;
    let most = plans.iter().map(TestPlan::streams_in_all).max().unwrap_or(0);
    linux::host::raise_file_limit_to(usize::try_from(most).unwrap_or(usize::MAX) + OWN_FILES);
    let interrupts = StopSignals::open().context("cannot handle signals")?;
    let detail = Detail::of(flags.output.quiet, flags.output.verbose);
    let probe_every = flags.rows.latency.then_some(flags.rows.probe_every);
    let observed = &flags.rows.observe;
    let manner = Manner { repeat: flags.rows.repeat, probe_every, observed, detail };
    let template = |plan: &TestPlan| request(flags, plan.clone());
    if flags.stream.wants_the_fastest() {
        return run_the_fastest(flags, &plans, template, manner, &interrupts);
    }
    let rows = run_rows(&plans, manner, template, Some(&interrupts));
    finish(&rows, format(flags.output.json), flags.output.output.as_deref())
}

/// The same by the engines that short tests find to be the fastest.
fn run_the_fastest(
    flags: &TestFlags,
    plans: &[TestPlan],
    request: impl Fn(&TestPlan) -> Request,
    manner: Manner<'_>,
    interrupts: &StopSignals,
) -> anyhow::Result<ExitCode> {
    let mut chosen = Vec::with_capacity(plans.len());
    for plan in plans {
        let title = format!("{}: trying engines", report::terminal::title(plan));
        let quiet = manner.detail == Detail::Quiet;
        let detail = if quiet { Detail::Quiet } else { Detail::Bar };
        let choice = campaign::choose_engines(plan, |plan| {
            let mut progress = Progress::new(title.clone(), detail);
            let mut request = request(plan);
            // Nobody judges these.
            request.options.watching = Watching::Nothing;
            run_patiently(&request, &mut progress, Some(interrupts), TURNAROUND)
        });
        match choice {
            Ok(choice) => chosen.push((choice.applied_to(plan), choice.trials)),
            Err(error) => return Ok(exit::report_session(&error)),
        }
    }
    let plans: Vec<_> = chosen.iter().map(|(plan, _)| plan.clone()).collect();
    let mut rows = run_rows(&plans, manner, request, Some(interrupts));
    for record in &mut rows.records.records {
        let trials = chosen.iter().find(|(plan, _)| *plan == record.plan);
        record.engine_trials = trials.map(|(_, trials)| trials.clone()).unwrap_or_default();
    }
    finish(&rows, format(flags.output.json), flags.output.output.as_deref())
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
