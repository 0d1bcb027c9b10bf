//! `linerate ab`: two settings in turn, until it is decided which is faster.

mod program;
mod sides;

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use campaign::search::{Alternate, Sweep};
use campaign::{AB_CONFIDENCE, Look, Monitor, Requirements, Results, Runner, Tuner};
use linux::entropy;
use linux::event::StopSignals;
use measurement::units::show_time;
use measurement::{AbFinding, AbRecord, AbRule, AbSide, Heading, IntoMap, TestPlan};
use report::ab;
use report::export::Export;

use self::sides::{Side, sides};
use super::changes::Changes;
use super::tune::Watch;
use crate::commands::test::request;
use crate::conclusion::Conclusion;
use crate::exit;
use crate::flags::AbFlags;
use crate::progress::{Detail, Progress};
use crate::{output, terminal};

pub(crate) fn run(flags: &AbFlags) -> anyhow::Result<ExitCode> {
    let format = flags.test.output.format.of_rows()?;
    let [a, b] = sides(flags)?;
    let plans = [a.row.plan.clone(), b.row.plan.clone()];
    let output = &flags.test.output;
    let requirements = output.requirements.of_rows(&plans, flags.test.rows.latency)?;
    if let Some(file) = &output.output {
        output::check_writable(file)?;
    }
    let seed = flags.seed.map_or_else(|| entropy::random().map(u64::from_ne_bytes), Ok);
    let seed = seed.context("no random numbers")?;
    let rule =
        AbRule { most_pairs: flags.pairs, margin_ratio: flags.margin, confidence: AB_CONFIDENCE };
    announce(flags, &plans);
    let interrupts = StopSignals::open().context("cannot handle signals")?;
    let mut search = Alternate::new([a.row.clone(), b.row.clone()], rule, seed);
    let sides = [a, b];
    let (results, failed) = results(flags, &sides, &mut search, &interrupts)?;
    let test = AbTest { sides: sides.map(|side| side.shown), rule, seed, failed };
    finish(flags, format, &requirements, &test.record(flags, &search, results))
}

/// Runs the tests; why changes could not be undone at the end, if they could not.
fn results(
    flags: &AbFlags,
    sides: &[Side; 2],
    search: &mut Alternate,
    interrupts: &StopSignals,
) -> anyhow::Result<(Results, Option<String>)> {
    let mut tuning = Changes::open(&flags.state, sides.iter().map(|side| &side.row))?;
    if let Some(changes) = &mut tuning {
        sides::check_changes(sides, &mut changes.tuner).map_err(anyhow::Error::msg)?;
    }
    let most = usize::try_from(flags.pairs).unwrap_or(usize::MAX).saturating_mul(2);
    let detail = Detail::from_flags(flags.test.output.quiet, flags.test.output.verbose);
    let mut progress = Progress::new(detail).of(most);
    let mut watch = None;
    let monitor: &mut dyn Monitor = match &tuning {
        Some(changes) => watch.insert(Watch::start(&mut progress, changes.tuner.session())?),
        None => &mut progress,
    };
    let request = request(&flags.test, sides[0].row.plan.clone());
    let mut runner = Runner::new(request, Some(interrupts), monitor);
    runner.observed.clone_from(&flags.test.rows.observe);
    runner.tuner = tuning.as_mut().map(|changes| &mut changes.tuner as &mut dyn Tuner);
    let mut programs = program::Programs;
    runner.delegate = Some(&mut programs);
    let results = runner.search(search);
    drop(runner);
    // The thread of the watch shares the settings.
    drop(watch);
    Ok((results, tuning.and_then(Changes::finish)))
}

/// Says what is going to be measured, and how long that may take.
fn announce(flags: &AbFlags, plans: &[TestPlan]) {
    if flags.test.output.quiet {
        return;
    }
    let time = (Sweep::planned_time(plans.iter()) * flags.pairs).as_secs();
    let (pairs, time) = (flags.pairs, show_time(Duration::from_secs(time)));
    // What is said here is only a remark.
    _ = writeln!(anstream::stderr(), "linerate: at most {pairs} pairs of tests, about {time}");
}

/// An A/B test as the user asked for it.
struct AbTest {
    sides: [AbSide; 2],
    rule: AbRule,
    seed: u64,
    /// Reason for which changes could not be undone.
    failed: Option<String>,
}

impl AbTest {
    fn record(self, flags: &AbFlags, search: &Alternate, results: Results) -> AbRecord {
        let pairs = search.pairs();
        let look = Look::at(&pairs.counting, &self.rule);
        let error = exit::of_results(&results, pairs.counting.len(), "pair");
        let error = self.failed.map(exit::failed).or(error);
        let records = results.records.records;
        let tags = flags.test.output.tag.iter().cloned().into_map();
        let rate_of =
            |side: fn(&(f64, f64)) -> f64| campaign::mean_rate(pairs.counting.iter().map(side));
        let [a, b] = self.sides;
        AbRecord {
            heading: Heading::new(tags, records.first()),
            a: AbSide { rate: rate_of(|pair| pair.0), ..a },
            b: AbSide { rate: rate_of(|pair| pair.1), ..b },
            rule: self.rule,
            seed: self.seed,
            pairs: u32::try_from(pairs.counting.len()).unwrap_or(u32::MAX),
            repeated: pairs.left_out,
            finding: look.finding,
            effect: look.effect,
            notes: campaign::remarks(&pairs.counting),
            records,
            error,
        }
    }
}

/// Prints the record, and returns the exit code.
fn finish(
    flags: &AbFlags,
    format: &'static dyn Export,
    requirements: &Requirements,
    record: &AbRecord,
) -> anyhow::Result<ExitCode> {
    let output = &flags.test.output;
    let records = record.records.iter();
    let conclusion = Conclusion {
        keeping: output.store.keeping("ab"),
        tests: &record.records,
        is_empty: record.pairs == 0,
        missed: records.flat_map(|record| requirements.missed(record)).collect(),
        error: record.error.as_ref(),
        doubt: (record.finding == AbFinding::TooFew)
            .then_some("too few runs are valid: see linerate explain last -v"),
        ..Conclusion::new(format, output.output.as_deref())
    };
    conclusion.print(record, |out| ab::write(record, terminal::width(), out))
}
