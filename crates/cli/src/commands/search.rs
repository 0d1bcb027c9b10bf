//! `linerate search`.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use campaign::search::{Throughput, Trial};
use campaign::{Next, Results, Runner, Search, SearchLimits};
use linux::event::StopSignals;
use measurement::plan::PlanDraft;
use measurement::record::RunError;
use measurement::{
    BitRate, ByteSize, Direction, IntoMap, SearchEvent, SearchGoal, StreamOptions, TestPlan,
    Transport,
};
use report::export::{Export, JsonStream};
use report::search::Curve;

use crate::conclusion::Conclusion;
use crate::exit::UsageError;
use crate::flags::SearchFlags;
use crate::flags::format::Form;
use crate::moving_line::MovingLine;
use crate::{exit, form, output, terminal};

pub(crate) fn run(flags: &SearchFlags) -> anyhow::Result<ExitCode> {
    let format = flags.output.format.of_rows()?;
    let plan = plan(flags)?;
    let goals = goals(flags);
    if let Some(file) = &flags.output.output {
        output::check_writable(file)?;
    }
    let interrupts = StopSignals::open().context("cannot handle signals")?;
    let request = flags.server.request(plan.clone(), flags.load.cpus.as_ref(), &flags.output.tag);
    let search = Throughput::new(plan, goals, limits(flags));
    let mut shown = Shown::new(search, format, flags);
    let mut monitor = ();
    let mut runner = Runner::new(request, Some(&interrupts), &mut monitor);
    let results = runner.search(&mut shown);
    shown.line.clear();
    finish(flags, format, &shown.search, &results)
}

fn plan(flags: &SearchFlags) -> Result<TestPlan, UsageError> {
    let load = &flags.load;
    let transport = if load.tcp { Transport::Tcp } else { Transport::Udp };
    let direction = if load.receive { Direction::Receive } else { Direction::Send };
    let options = StreamOptions { block: load.length, ..StreamOptions::default() };
    let draft = PlanDraft {
        streams: load.streams,
        options: flags.packets.of(options),
        ..PlanDraft::new(transport, direction)
    };
    draft.check().map_err(|error| UsageError(error.to_string()))
}

fn goals(flags: &SearchFlags) -> Vec<SearchGoal> {
    let asked = &flags.goals;
    let mut losses = asked.loss.clone();
    if losses.is_empty() {
        losses = if flags.load.tcp { vec![0.0] } else { LOSSES.to_vec() };
    }
    let final_trial = asked.final_trial.max(asked.initial_trial);
    let goal = |loss_ratio| SearchGoal {
        loss_ratio,
        width_ratio: asked.width,
        initial_trial: asked.initial_trial,
        final_trial,
        duration_sum: asked.duration_sum.unwrap_or(final_trial * 2).max(final_trial),
        exceed_ratio: asked.exceed,
    };
    losses.into_iter().map(goal).collect()
}

fn limits(flags: &SearchFlags) -> SearchLimits {
    let load = &flags.load;
    let max = load.max_rate.filter(|rate| rate.bits_per_second() > 0);
    let max = max.unwrap_or(BitRate::from_bits_per_second(HIGHEST));
    let min = BitRate::from_bits_per_second(LOWEST.saturating_mul(load.streams.into())).min(max);
    SearchLimits {
        start: load.start_rate.clamp(min, max),
        min,
        max,
        budget: flags.goals.budget,
        datagram_bytes: (!load.tcp).then(|| load.length.map_or(ETHERNET, ByteSize::bytes)),
    }
}

/// A search that shows its trials while they run.
struct Shown {
    search: Throughput,
    line: MovingLine,
    /// Whether each trial is a line of JSON.
    is_stream: bool,
    is_verbose: bool,
    budget: Duration,
    printed: usize,
}

impl Shown {
    fn new(search: Throughput, format: &dyn Export, flags: &SearchFlags) -> Self {
        let line = MovingLine::new(flags.output.quiet);
        line.show("  search: connecting".to_owned());
        let (is_verbose, budget) = (flags.verbose, flags.goals.budget);
        let is_stream = format.name() == JsonStream.name();
        Self { search, line, is_stream, is_verbose, budget, printed: 0 }
    }

    /// The trials that have ended since the last look.
    fn print_trials(&mut self) {
        let trials = self.search.trials();
        for (number, trial) in trials.iter().enumerate().skip(self.printed) {
            if self.is_stream {
                let number = u32::try_from(number).unwrap_or(u32::MAX);
                print_line(&SearchEvent::Trial { number, trial: *trial });
            } else if self.is_verbose {
                self.line.suspend(|| say(&report::search::line(trial)));
            }
        }
        self.printed = trials.len();
    }

    fn show(&self, next: &Next) {
        let Next::Run(task) = next else { return };
        let spent: Duration = self.search.trials().iter().map(|trial| trial.took).sum();
        let left = self.budget.saturating_sub(spent).as_secs_f64();
        let load = task.row.plan.asked().map(|rate| rate.to_string()).unwrap_or_default();
        let bounds = self.search.results().first().map(|result| {
            let rate = |rate: Option<BitRate>| rate.map_or("?".to_owned(), |rate| rate.to_string());
            format!(", so far {} to {}", rate(result.lower), rate(result.upper))
        });
        let bounds = bounds.unwrap_or_default();
        self.line.show(format!(
            "  trial {}: {load}{bounds}   at most {left:.0} s left",
            self.printed + 1
        ));
    }
}

impl Search for Shown {
    fn next(&mut self, done: &[Trial]) -> Next {
        let next = self.search.next(done);
        self.print_trials();
        self.show(&next);
        next
    }
}

/// Prints the record, and returns the exit code.
fn finish(
    flags: &SearchFlags,
    format: &'static dyn Export,
    search: &Throughput,
    results: &Results,
) -> anyhow::Result<ExitCode> {
    let mut record = search.record(flags.output.tag.iter().cloned().into_map());
    if let Some(error) = error(search, results) {
        record.end_early(error);
    }
    let tests: Vec<_> = record.evidence.as_deref().cloned().into_iter().collect();
    let has_bound = record.goals.iter().any(|goal| goal.lower.is_some());
    let conclusion = Conclusion {
        keeping: flags.store.keeping("search"),
        tests: &tests,
        is_empty: record.trials.is_empty(),
        error: record.error.as_ref(),
        code: ExitCode::from(if has_bound { 0 } else { exit::INVALID }),
        ..Conclusion::new(format, flags.output.output.as_deref())
    };
    let curve = if flags.verbose { Curve::Trials } else { Curve::Short };
    conclusion.print(&record, |out| report::search::write(&record, curve, terminal::width(), out))
}

/// Why the search ended early; none: it did not.
fn error(search: &Throughput, results: &Results) -> Option<RunError> {
    let told = || exit::failed("the server does not report what arrived: run linerate there");
    let error = exit::of_results(results, search.trials().len(), "trial");
    error.or_else(|| search.is_broken().then(told))
}

fn print_line(event: &SearchEvent<'_>) {
    // A reader that closed the pipe has read enough.
    _ = form::print_as(Form::Compact, event, |_| Ok(()));
}

fn say(line: &str) {
    // Progress that cannot be shown is no reason to stop measuring.
    _ = writeln!(anstream::stderr(), "  {line}");
}

/// Shares of the datagrams that may be lost.
const LOSSES: [f64; 3] = [0.0, 0.001, 0.01];
/// In bit/s, of a stream: what is slower has too few datagrams.
const LOWEST: u64 = 100_000;
/// In bit/s: more than any host sends.
const HIGHEST: u64 = 1_000_000_000_000;
/// Payload of a datagram in a frame of Ethernet, in bytes.
const ETHERNET: u64 = 1_472;
