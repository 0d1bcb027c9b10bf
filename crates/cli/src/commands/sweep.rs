//! `linerate sweep`: a test at each point of one axis or two.

use std::io::Write;
use std::net::ToSocketAddrs;
use std::process::ExitCode;
use std::time::Duration;

use analysis::{Carried, CurvePoint};
use anyhow::Context;
use campaign::search::Sweep;
use campaign::{Monitor, Next, Results, Runner, Search, Task, Trial, Tuner};
use linux::event::StopSignals;
use measurement::outcome::Ending;
use measurement::units::show_time;
use measurement::{BitRate, Order, RecordSet, TestPlan, TestRecord, Transport};
use report::export::{Audience, Csv, Export, JsonStream, Markdown, Table};
use report::sweep::{self, NoKnee};

use super::changes::Changes;
use super::tune::Watch;
use crate::commands::test::request;
use crate::exit::{self, UsageError};
use crate::flags::SweepFlags;
use crate::flags::sweep_axis::Axis;
use crate::{charset, history, output, terminal};

mod points;
mod progress;
mod store;

use points::{Point, Points};
use progress::SweepProgress;
use store::Store;

pub(crate) fn run(flags: &mut SweepFlags) -> anyhow::Result<ExitCode> {
    let points = Points::of(flags)?;
    let plans = points.plans();
    let requirements = flags.test.output.requirements.of_rows(&plans, flags.test.rows.latency)?;
    let Some(first) = plans.first().cloned() else { return Ok(ExitCode::SUCCESS) };
    let file = flags.test.output.output.as_deref();
    let mut store = file.map(|file| Store::open(file, flags.resume)).transpose()?;
    let stored = store.as_mut().map(|store| std::mem::take(&mut store.records));
    let mut records = stored.unwrap_or_default();
    check_server(flags, &records)?;
    let is_measured = |point: &&Point| {
        let is_complete = |record: &TestRecord| record.outcome.ending == Ending::Completed;
        !records.iter().any(|record| is_complete(record) && point.row.is_of(record))
    };
    let due: Vec<_> = points.all.iter().filter(is_measured).cloned().collect();
    announce(flags, &points, &due);
    let interrupts = StopSignals::open().context("cannot handle signals")?;
    let titles: Vec<_> = due.iter().map(|point| point.title(&points.axes)).collect();
    let planned = Sweep::planned_time(due.iter().map(|point| &point.row.plan));
    let output = &flags.test.output;
    let is_quiet = output.quiet || output.format.or(&Table).name() == JsonStream.name();
    let mut progress = SweepProgress::new(output.monitor(&Table), is_quiet, titles, planned);
    let mut changes = Changes::open(&flags.state, due.iter().map(|point| &point.row))?;
    let mut watch = None;
    let monitor: &mut dyn Monitor = match &changes {
        Some(changes) => watch.insert(Watch::start(&mut progress, changes.tuner.session())?),
        None => &mut progress,
    };
    let mut runner = Runner::new(request(&flags.test, first), Some(&interrupts), monitor);
    runner.observed.clone_from(&flags.test.rows.observe);
    runner.tuner = changes.as_mut().map(|changes| &mut changes.tuner as &mut dyn Tuner);
    let rows = due.iter().map(|point| point.row.clone()).collect();
    let mut search = Stored { sweep: Sweep::new(rows, flags.budget), store, seen: 0, error: None };
    let results = runner.search(&mut search);
    drop(runner);
    // The thread of the watch shares the settings.
    drop(watch);
    let left = changes.and_then(Changes::finish);
    records.extend(results.records.records.iter().cloned());
    let write_error = search.error.or_else(|| left.map(anyhow::Error::msg));
    let end = End { results, failed: progress.failed, write_error };
    end.print(flags, &points, records, &requirements)
}

/// Refuses to go on with the points of another server, as far as that can be told before it is
/// asked. A name that cannot be resolved is refused by the first test.
fn check_server(flags: &SweepFlags, records: &[TestRecord]) -> Result<(), UsageError> {
    let peers = records.iter().filter_map(|record| record.peer.as_ref());
    let mut peers = peers.map(|peer| peer.address.ip().to_canonical()).peekable();
    if peers.peek().is_none() {
        return Ok(());
    }
    let (host, _) = flags.test.server.target.host_and_port();
    let Ok(found) = (host, 0).to_socket_addrs() else { return Ok(()) };
    let here: Vec<_> = found.map(|address| address.ip().to_canonical()).collect();
    let Some(other) = peers.find(|peer| !here.contains(peer)) else { return Ok(()) };
    Err(UsageError(format!("the file is of a sweep with {other}: choose another file")))
}

/// A sweep whose records are stored before the next test begins.
struct Stored {
    sweep: Sweep,
    /// None: there is no file.
    store: Option<Store>,
    /// Tests that were looked at.
    seen: usize,
    error: Option<anyhow::Error>,
}

impl Search for Stored {
    fn next(&mut self, done: &[Trial]) -> Next {
        for trial in &done[self.seen..] {
            let is_kept = trial.task.purpose.is_result() && trial.is_complete();
            let record = trial.result.as_ref().ok().filter(|_| is_kept);
            if let (Some(store), Some(record), None) = (&mut self.store, record, &self.error) {
                self.error = store.append(record).err();
            }
        }
        self.seen = done.len();
        if self.error.is_some() { Next::Stop } else { self.sweep.next(done) }
    }

    fn remaining(&self, done: &[Trial]) -> Vec<Task> {
        self.sweep.remaining(done)
    }
}

/// Says what is going to be measured, and how long that takes.
fn announce(flags: &SweepFlags, points: &Points, due: &[Point]) {
    if flags.test.output.quiet {
        return;
    }
    let (count, all) = (due.len(), points.all.len());
    let points = counted(count);
    let plans = due.iter().map(|point| &point.row.plan);
    let time = show_time(Duration::from_secs(Sweep::planned_time(plans).as_secs()));
    let axes: Vec<_> = flags.over.iter().map(|over| over.axis.to_string()).collect();
    let axes = axes.join(" and ");
    let there = if count < all {
        format!(", {} of {all} are in the file", all - count)
    } else {
        String::new()
    };
    // What is said here is only a remark.
    _ = writeln!(anstream::stderr(), "linerate: {points} over {axes}, about {time}{there}");
}

/// `1 point`, `3 points`.
fn counted(count: usize) -> String {
    if count == 1 { "1 point".to_owned() } else { format!("{count} points") }
}

/// How a sweep ended.
struct End {
    results: Results,
    /// Why points failed.
    failed: Vec<String>,
    /// Why a record could not be stored, or a setting not be undone.
    write_error: Option<anyhow::Error>,
}

impl End {
    /// Prints the points that are complete, those of the file among them, and what went wrong.
    fn print(
        self,
        flags: &SweepFlags,
        points: &Points,
        records: Vec<TestRecord>,
        requirements: &campaign::Requirements,
    ) -> anyhow::Result<ExitCode> {
        let complete = |record: &TestRecord| record.outcome.ending == Ending::Completed;
        let done = records.iter().filter(|record| complete(record)).count();
        let was_interrupted = records.last().is_some_and(is_interrupted);
        let error = self.results.error.is_some() || was_interrupted;
        let error = error.then(|| exit::of_results(&self.results, done, "point")).flatten();
        let error = error.or_else(|| self.write_error.as_ref().map(exit::of_command));
        let error = error.or_else(|| {
            self.failed.first().map(|first| {
                let text = format!("{} of the points failed; {first}", self.failed.len());
                exit::of_command(&anyhow::anyhow!(text))
            })
        });
        let set = RecordSet {
            error: error.clone(),
            ..RecordSet::new(records.into_iter().filter(complete).collect())
        };
        let missed: Vec<_> =
            set.records.iter().flat_map(|record| requirements.missed(record)).collect();
        if let Some(keeping) = flags.test.output.store.keeping("sweep") {
            history::keep(&keeping, &set);
        }
        print(flags, points, &set, &missed, &self.results.not_run)?;
        exit::say_missed(&missed);
        if !self.results.not_run.is_empty() && !set.records.is_empty() {
            let count = counted(self.results.not_run.len());
            _ = writeln!(anstream::stderr(), "linerate: ended early, {count} not run");
        }
        if let Some(error) = &error {
            return Ok(exit::complain(error));
        }
        // Beyond the knee a point is INVALID by its nature.
        let are_all_invalid = !set.records.is_empty() && set.records.iter().all(exit::is_invalid);
        Ok(match (missed.is_empty(), are_all_invalid) {
            (false, _) => ExitCode::from(exit::MISSED),
            (true, true) => ExitCode::from(exit::INVALID),
            (true, false) => ExitCode::SUCCESS,
        })
    }
}

fn is_interrupted(record: &TestRecord) -> bool {
    record.outcome.ending == Ending::Interrupted
}

fn print(
    flags: &SweepFlags,
    points: &Points,
    set: &RecordSet,
    missed: &[String],
    not_run: &[String],
) -> anyhow::Result<()> {
    let format = flags.test.output.format.or(&Table);
    let of_record = |point: &Point| {
        let record = set.records.iter().find(|record| point.row.is_of(record))?;
        Some(sweep::Point { settings: point.settings.clone(), record })
    };
    let measured: Vec<_> = points.all.iter().filter_map(of_record).collect();
    let (knee, no_knee) = match knee(flags, &measured) {
        Some(Ok(knee)) => (Some(knee), None),
        Some(Err(why)) => (None, Some(why)),
        None => (None, None),
    };
    let drawn = sweep::Sweep { axes: points.axes.clone(), points: measured, knee, no_knee };
    if format.name() == Table.name() {
        let (width, glyphs) = (terminal::width(), charset::glyphs());
        return output::print_table(|out| drawn.write(width, glyphs, out));
    }
    if format.name() == Csv.name() {
        return output::print_table(|out| drawn.grid(Audience::Programs).write_csv(out));
    }
    if format.name() == Markdown.name() {
        return output::print_table(|out| drawn.grid(Audience::People).write_markdown(out));
    }
    if format.name() == JsonStream.name() {
        let event = measurement::RunEvent::end(set, missed.to_vec(), not_run.to_vec());
        crate::stream::print(&event);
        return Ok(());
    }
    output::print(set, format)
}

/// The knee of a sweep over rates alone, or why there is none. None: it is over something else, or
/// has fewer than two rates.
fn knee<'a>(
    flags: &SweepFlags,
    points: &[sweep::Point<'a>],
) -> Option<Result<sweep::Knee<'a>, NoKnee>> {
    let [over] = &flags.over[..] else { return None };
    if over.axis != Axis::Rate {
        return None;
    }
    let rates = points.iter().filter_map(|point| match point.settings[..] {
        [sweep::Setting::Number(setting)] if setting > 0 => {
            Some((setting, curve_point(point.record)?, point.record))
        }
        _ => None,
    });
    let mut rates: Vec<_> = rates.collect();
    rates.order_by_key(|(setting, ..)| *setting);
    let curve: Vec<_> = rates.iter().map(|(_, point, _)| *point).collect();
    let Some((at, missed)) = analysis::knee(&curve) else {
        return (curve.len() > 1).then(|| Err(no_knee(&curve)));
    };
    let before = rates.get(at.saturating_sub(1))?.0;
    let beyond = rates.get(missed + 1).or_else(|| rates.get(missed))?.0;
    let (_, _, above) = *rates.get(missed)?;
    Some(Ok(sweep::Knee { at: curve[at].load, around: (before, beyond), above }))
}

/// Why a curve has no knee.
fn no_knee(curve: &[CurvePoint]) -> NoKnee {
    let told = |point: &&CurvePoint| point.carried() != Carried::Missed;
    match curve.iter().rfind(told) {
        Some(last) if last.carried() == Carried::Void => NoKnee::Sender(last.arrived),
        Some(last) => NoKnee::KeepsUp(last.load),
        None => NoKnee::FallsShort,
    }
}

/// A point of the curve over the rates of all streams, in all directions.
fn curve_point(record: &TestRecord) -> Option<CurvePoint> {
    let is_udp = record.plan.transport == Transport::Udp;
    let sent =
        record.outcome.directions.iter().map(|one| Some(one.offered?.rate.bits_per_second()));
    let sent = is_udp.then(|| sent.sum::<Option<u64>>()).flatten();
    Some(CurvePoint {
        load: asked(&record.plan)?,
        sent: sent.map(BitRate::from_bits_per_second),
        arrived: record.outcome.rate()?,
    })
}

/// The rate of all streams, in all directions.
fn asked(plan: &TestPlan) -> Option<BitRate> {
    let both = if plan.direction.sends() && plan.direction.receives() { 2 } else { 1 };
    plan.asked().map(|rate| rate.times(both))
}
