//! `linerate tune`: tries the changes of this host that verdicts name, and keeps what helps.

mod consent;
mod host_tuner;
mod joined;
mod other_hosts;
mod script;
mod watch;
mod watchdog;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, anyhow};
use campaign::{AB_CONFIDENCE, ObservedHost, PlannedRow, Requirements, Runner, Tune, Tuned};
use host::Tree;
use host::tuning::{self, Files, PersistBy, PersistentChange, Tuning};
use linux::entropy;
use linux::event::StopSignals;
use measurement::host::Role;
use measurement::record::RunError;
use measurement::tune::{Attempt, TriedChange};
use measurement::units::counted;
use measurement::{
    AbFinding, AbRule, AttemptOutcome, Heading, IntoMap, Metric, TestRecord, Transport, TuneRecord,
};
use report::export::Export;
use report::tune;
use session::SessionError;

use self::consent::Consent;
use self::joined::JoinedHost;
use super::test::request;
use crate::conclusion::Conclusion;
use crate::exit::{self, UsageError};
use crate::flags::TuneFlags;
use crate::one_row::one_row;
use crate::progress::Progress;
use crate::terminal;

pub(in crate::commands) use host_tuner::HostTuner;
pub(in crate::commands) use script::text as script_text;
pub(in crate::commands) use watch::Watch;
pub(in crate::commands) use watchdog::Watchdog;
pub(crate) use watchdog::run as watchdog;

pub(crate) fn run(flags: &TuneFlags) -> anyhow::Result<ExitCode> {
    let format = flags.test.output.format.of_rows()?;
    let row = row(flags)?;
    let output = &flags.test.output;
    let requirements =
        output.requirements.of_rows(std::slice::from_ref(&row.plan), row.probe_every.is_some())?;
    output.check()?;
    let consent = Consent::of(flags)?;
    if let Some(by) = flags.persist.filter(|_| !flags.dry_run) {
        tuning::check_persist(&flags.state, &flags.persist_root, by)?;
    }
    let seed = flags.seed.map_or_else(|| entropy::random().map(u64::from_ne_bytes), Ok);
    let rule =
        AbRule { most_pairs: flags.pairs, margin_ratio: flags.margin, confidence: AB_CONFIDENCE };
    let tune = Tune {
        row,
        goal: flags.goal,
        rule,
        guard: flags.guard,
        seed: seed.context("no random numbers")?,
        most_attempts: usize::try_from(flags.changes).unwrap_or(usize::MAX),
    };
    let interrupts = StopSignals::open().context("cannot handle signals")?;
    let (tuned, failed) = tuned(flags, &tune, consent, &interrupts)?;
    let mut record = record(flags, &tune, tuned, failed);
    if let Some(by) = flags.persist.filter(|_| !flags.dry_run) {
        persist(flags, by, &mut record);
    }
    finish(flags, format, &requirements, &record)
}

/// The row before any change. A round-trip time that is to become better is probed.
fn row(flags: &TuneFlags) -> Result<PlannedRow, UsageError> {
    let wrong = |text: &str| Err(UsageError(text.to_owned()));
    let test = &flags.test;
    if test.rows.no_evidence {
        return wrong("a tuning needs a verdict, and a verdict evidence: leave --no-evidence out");
    }
    let row = one_row(test, "a tuning")?;
    if flags.goal == Metric::Pps && row.plan.transport != Transport::Udp {
        return wrong("--goal pps counts datagrams: type -u and -b RATE");
    }
    let is_probed = flags.goal == Metric::Latency || row.probe_every.is_some();
    Ok(PlannedRow { probe_every: is_probed.then_some(test.rows.probe_every), ..row })
}

/// Runs the tuning; what came of it, and why changes could not be undone, if they could not.
fn tuned(
    flags: &TuneFlags,
    tune: &Tune,
    consent: Consent,
    interrupts: &StopSignals,
) -> anyhow::Result<(Tuned, Option<String>)> {
    let state = state(flags);
    let request = request(&flags.test, tune.row.plan.clone());
    let joined = JoinedHost::all(flags, &request, interrupts);
    let mut joined = joined.map_err(|why| anyhow!("{why}"))?;
    let mut settings = HostTuner::new(Tuning::open(&state)?, !flags.dry_run);
    let watchdog = Watchdog::start(&state);
    let watchdog = watchdog.context("cannot start a process that undoes changes")?;
    let mut progress = Progress::new(flags.test.output.detail());
    let mut watch = Watch::start(&mut progress, settings.session())?;
    let mut runner = Runner::new(request, Some(interrupts), &mut watch);
    runner.observed = observed(flags);
    runner.joined = joined.iter_mut().map(JoinedHost::for_runner).collect();
    runner.tuner = Some(&mut settings);
    let quiet = flags.test.output.quiet;
    let mut tuned =
        tune.run(&mut runner, &mut |proposals| consent.ask(proposals, interrupts, quiet));
    drop(runner);
    drop(watch);
    if flags.keep_none {
        tuned.kept.clear();
    }
    let keeps = !tuned.kept.is_empty();
    let elsewhere = joined.into_iter().map(|one| one.finish(keeps));
    let lost = elsewhere.fold(None, |first: Option<String>, ended| first.or(ended.err()));
    let failed = settings.finish(keeps && lost.is_none()).err().map(|error| error.to_string());
    if keeps && lost.is_some() {
        tuned.kept.clear();
    }
    drop(watchdog);
    if flags.dry_run {
        // Empty, and of no use to anybody.
        _ = std::fs::remove_dir_all(&state);
    }
    Ok((tuned, failed.or(lost)))
}

/// Hosts that are watched: those that are tuned, too.
fn observed(flags: &TuneFlags) -> Vec<ObservedHost> {
    let mut observed = flags.test.rows.observe.clone();
    for (role, one) in joined::named(flags) {
        if role != Role::Peer && !observed.contains(&one) {
            observed.push(one);
        }
    }
    observed
}

/// Has what is kept outlive the next boot.
fn persist(flags: &TuneFlags, by: PersistBy, record: &mut TuneRecord) {
    let is_kept =
        |one: &&TriedChange| one.change.host == Role::Here && !one.change.setting.is_option();
    let kept = record.kept.iter().filter(is_kept);
    let changes = kept.map(|TriedChange { change, undo, .. }| PersistentChange {
        setting: change.setting.clone(),
        undo: undo.clone(),
    });
    let changes: Vec<_> = changes.collect();
    if changes.is_empty() {
        return;
    }
    match tuning::persist(&flags.state, &flags.persist_root, &Tree::live(), by, &changes) {
        Ok(Files { files, left_out }) => {
            record.persisted = files.into_iter().map(|file| file.path).collect();
            for (setting, why) in left_out {
                // What is said here is only a remark.
                _ = writeln!(anstream::stderr(), "linerate: {setting} does not persist: {why}");
            }
        }
        Err(error) => record.error = Some(exit::failed(error.to_string())),
    }
}

/// The directory of the journal. One that stays empty needs no right to write to that of the host.
fn state(flags: &TuneFlags) -> PathBuf {
    if flags.dry_run {
        return std::env::temp_dir().join(format!("linerate-{}", std::process::id()));
    }
    flags.state.clone()
}

fn record(flags: &TuneFlags, tune: &Tune, tuned: Tuned, failed: Option<String>) -> TuneRecord {
    let Tuned { verdict, attempts, check, kept, records, error } = tuned;
    let tags = flags.test.output.tag.iter().cloned().into_map();
    let error = match (failed, error) {
        (Some(failed), _) => Some(exit::failed(failed)),
        (None, Some(error)) => Some(explained(&error, &attempts)),
        (None, None) => None,
    };
    TuneRecord {
        heading: Heading::new(tags, records.first()),
        plan: tune.row.plan.clone(),
        goal: tune.goal,
        rule: tune.rule,
        guard_ratio: tune.guard,
        seed: tune.seed,
        verdict,
        attempts,
        check,
        kept,
        persisted: Vec::new(),
        records,
        error,
    }
}

fn explained(error: &SessionError, attempts: &[Attempt]) -> RunError {
    let error = exit::of_session(error);
    let changes = counted(attempts.len() as u64, "finding");
    let message = match error.exit_code {
        exit::INTERRUPTED => format!("interrupted after {changes}; all changes are undone"),
        _ => error.message,
    };
    RunError { message, ..error }
}

/// Prints the record, and returns the exit code.
fn finish(
    flags: &TuneFlags,
    format: &'static dyn Export,
    requirements: &Requirements,
    record: &TuneRecord,
) -> anyhow::Result<ExitCode> {
    let output = &flags.test.output;
    let last = last(record);
    let conclusion = Conclusion {
        keeping: output.store.keeping("tune"),
        tests: &record.records,
        is_empty: record.records.is_empty(),
        missed: last.iter().flat_map(|record| requirements.missed(record)).collect(),
        error: record.error.as_ref(),
        doubt: has_too_few(record).then_some("too few runs are valid: see linerate explain last"),
        ..Conclusion::new(format, output.output.as_deref())
    };
    conclusion.print(record, |out| {
        if flags.dry_run {
            write_scripts(flags, record, out)
        } else {
            tune::write(record, terminal::width(), out)
        }
    })
}

/// Writes the script for this host, and those for the hosts that let it tune them.
fn write_scripts(
    flags: &TuneFlags,
    record: &TuneRecord,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    script::write(&other_hosts::of_this_host(record), flags.persist, out)?;
    let hosts: Vec<_> =
        joined::named(flags).into_iter().map(|(role, on)| (role, on.host)).collect();
    other_hosts::write(record, &hosts, out)
}

/// The last test with the settings that are in effect now.
fn last(record: &TuneRecord) -> Option<&TestRecord> {
    let side = if record.kept.is_empty() { "A" } else { "B" };
    let is_so = |one: &&TestRecord| one.tags.get("ab").is_none_or(|ab| ab == side);
    record.records.iter().rev().find(is_so)
}

/// Whether a comparison could not tell anything.
fn has_too_few(record: &TuneRecord) -> bool {
    let attempts = record.attempts.iter();
    let attempts = attempts.filter(|one| one.outcome != AttemptOutcome::NotTried);
    let compared = attempts.filter_map(|one| one.comparison.as_ref()).chain(&record.check);
    let mut findings = compared.map(|one| one.finding).peekable();
    findings.peek().is_some() && findings.all(|finding| finding == AbFinding::TooFew)
}
