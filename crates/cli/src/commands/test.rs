//! `linerate test`.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Context;
use campaign::search::{Fastest, Repeat};
use campaign::{Row, Runner, Search};
use linux::event::StopSignals;
use measurement::{TestPlan, Transport};
use report::export::Table;
use session::client::{Request, Watching};

use crate::flags::TestFlags;
use crate::plan::plans;
use crate::progress::{Detail, Progress};
use crate::results::finish;

pub(crate) fn run(flags: &TestFlags) -> anyhow::Result<ExitCode> {
    let plans = plans(flags)?;
    let Some(first) = plans.first().cloned() else { return Ok(ExitCode::SUCCESS) };
    let most = plans.iter().map(TestPlan::streams_in_all).max().unwrap_or(0);
    linux::host::raise_file_limit_to(usize::try_from(most).unwrap_or(usize::MAX) + OWN_FILES);
    if let Some(line) = flood(flags, &plans) {
        // What is said here is only a remark.
        _ = writeln!(anstream::stderr(), "linerate: {line}");
    }
    let interrupts = StopSignals::open().context("cannot handle signals")?;
    let mut progress = Progress::new(Detail::from_flags(flags.output.quiet, flags.output.verbose));
    let mut runner = Runner::new(request(flags, first), Some(&interrupts), &mut progress);
    runner.observed.clone_from(&flags.rows.observe);
    let results = runner.search(&mut *search(flags, plans));
    finish(&results, flags.output.format.or(&Table), flags.output.output.as_deref())
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
    let rows = plans.into_iter().map(Row::of_plan).map(|row| Row { probe_every, ..row });
    // As with iperf3, -b 0 is unlimited.
    let is_open = flags.stream.rate.is_none();
    let rows = rows.map(|row| if is_open { row.at_the_rate_without_loss() } else { row }).collect();
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
