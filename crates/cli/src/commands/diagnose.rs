//! `linerate diagnose`.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use campaign::search::{Decide, Repeat};
use campaign::{PlannedRow, Runner, Search};
use host::Tree;
use host::inventory::kernel_config::{self, Lacking, Purpose};
use host::tuning::{self, Script, Step, TuningError};
use linux::event::StopSignals;
use measurement::plan::PlanDraft;
use measurement::verdict::Finding;
use measurement::{Direction, End, TestPlan, Transport};
use report::export::Diagnosis;
use session::client::{ClientOptions, Request};

use crate::commands::host::tree;
use crate::commands::tune::script_text;
use crate::exit::UsageError;
use crate::flags::DiagnoseFlags;
use crate::flags::format::Form;
use crate::output;
use crate::progress::Detail;
use crate::results::{Finish, monitor};
use crate::terminal;

pub(crate) fn run(flags: &DiagnoseFlags) -> anyhow::Result<ExitCode> {
    if flags.target.is_given() { test(flags) } else { look(flags) }
}

/// Without traffic.
fn look(flags: &DiagnoseFlags) -> anyhow::Result<ExitCode> {
    let form = flags.format.form()?;
    let tree = tree(flags.root.as_deref())?;
    let (inventory, gaps) = host::inventory::read(&tree);
    let findings = campaign::diagnose(inventory.clone(), gaps.clone());
    if flags.script {
        let text = script_text(&script(&tree, &findings)?, flags.persist, &tree);
        output::print_text(text.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    match form {
        Form::Json => output::print_table(|out| {
            report::diagnosis::write_json(&inventory, &findings, &gaps, out)
        })?,
        Form::Compact => output::print_table(|out| {
            report::diagnosis::write_json_line(&inventory, &findings, &gaps, out)
        })?,
        Form::Text => {
            output::print_table(|out| {
                report::diagnosis::write(&inventory, &findings, &gaps, terminal::room(), out)
            })?;
            // Where its options cannot be read, that is one of the gaps.
            let lacking = kernel_config::lacking(&tree, &inventory.kernel).ok();
            if let Some(text) = lacking.and_then(|lacking| told(&lacking, flags.root.as_deref())) {
                output::print_text(text.as_bytes())?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The changes that findings name.
fn script(tree: &Tree, findings: &[Finding]) -> Result<Script, TuningError> {
    let steps = findings.iter().map(|finding| {
        let (reason, changes) = (&finding.text, &finding.remedy.changes);
        Step { reason, changes, refused: None }
    });
    tuning::script(tree, &steps.collect::<Vec<_>>())
}

/// How many options a kernel lacks, and the command that lists them; none: it has all that linerate
/// uses.
fn told(lacking: &Lacking, root: Option<&Path>) -> Option<String> {
    let count = |purpose| lacking.count(purpose);
    let (attribution, tests) = (count(Purpose::Attribution), count(Purpose::Tests));
    let tracing = count(Purpose::Tracing);
    let of = root.map(|root| format!(" --root {}", root.display())).unwrap_or_default();
    (attribution + tests > 0).then(|| {
        format!(
            "\n  kernel options missing: attribution {attribution}, tests {tests}, tracing {tracing}; \
             see\n  linerate host --kernel-config{of}\n"
        )
    })
}

/// Against a server.
fn test(flags: &DiagnoseFlags) -> anyhow::Result<ExitCode> {
    let rows = plans(flags)?.into_iter().map(PlannedRow::of_plan);
    // -b 0 is unlimited.
    let is_open = flags.rate.is_none();
    let rows = rows.map(|row| if is_open { row.at_the_rate_without_loss() } else { row });
    let rows: Vec<_> = rows.collect();
    flags.output.as_deref().map_or(Ok(()), output::check_writable)?;
    let Some(first) = rows.first() else { return Ok(ExitCode::SUCCESS) };
    let interrupts = StopSignals::open().context("cannot handle signals")?;
    let (format, file) = (flags.format.or(&Diagnosis), flags.output.as_deref());
    let mut monitor = monitor(format, Detail::from_flags(flags.quiet, false));
    let request = request(flags, first.plan.clone());
    let mut runner = Runner::new(request, Some(&interrupts), &mut *monitor);
    runner.experiments = if flags.no_follow_up { 0 } else { EXPERIMENTS };
    let mut results = runner.search(&mut *search(flags, rows));
    let keeping = flags.store.keeping("diagnose");
    Finish { keeping, ..Finish::new(format, file) }.print(&mut results)
}

/// The rows, and by default what decides where these leave something open.
fn search(flags: &DiagnoseFlags, rows: Vec<PlannedRow>) -> Box<dyn Search> {
    if flags.no_follow_up { Box::new(Repeat::once(rows)) } else { Box::new(Decide::new(rows)) }
}

fn plans(flags: &DiagnoseFlags) -> Result<Vec<TestPlan>, UsageError> {
    let ways = [Direction::Send, Direction::Receive];
    let rows = [Transport::Tcp, Transport::Udp].into_iter();
    let rows = rows.flat_map(|transport| ways.map(|direction| (transport, direction)));
    rows.map(|(transport, direction)| {
        let mut draft = PlanDraft::new(transport, direction);
        draft.end = End::Time(flags.time);
        draft.streams = flags.streams;
        draft.options.rate = flags.rate.filter(|rate| rate.bits_per_second() > 0);
        draft.options.window = flags.window;
        draft.check().map_err(|error| UsageError(error.to_string()))
    })
    .collect()
}

fn request(flags: &DiagnoseFlags, plan: TestPlan) -> Request {
    let (host, port) = flags.target.host_and_port();
    Request {
        host,
        port,
        family: flags.family.into(),
        bind: None,
        further_binds: Vec::new(),
        connect_timeout: CONNECT_TIMEOUT,
        cpus: Vec::new(),
        tags: std::collections::BTreeMap::new(),
        plan,
        options: ClientOptions { perf: flags.profile.access(), ..ClientOptions::default() },
    }
}

/// Most experiments for a row.
const EXPERIMENTS: u32 = 4;
const CONNECT_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(5);
