//! `linerate ab`: two settings in turn, until it is decided which is faster.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use campaign::search::{Alternate, Sweep};
use campaign::{AB_CONFIDENCE, Look, Requirements, Results, Row, Runner};
use linux::entropy;
use linux::event::StopSignals;
use measurement::plan::PlanDraft;
use measurement::units::show_time;
use measurement::{
    AbFinding, AbRecord, AbRule, AbSide, End, Heading, RecordSet, TestPlan, Transport, json,
};
use report::ab;

use crate::commands::test::request;
use crate::exit::{self, UsageError};
use crate::flags::format::Form;
use crate::flags::{AbFlags, TestFlags};
use crate::progress::{Detail, Progress};
use crate::{history, output, plan, terminal};

pub(crate) fn run(flags: &AbFlags) -> anyhow::Result<ExitCode> {
    let form = flags.test.output.format.form()?;
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
    let detail = Detail::from_flags(output.quiet, output.verbose);
    let most = usize::try_from(flags.pairs).unwrap_or(usize::MAX).saturating_mul(2);
    let mut progress = Progress::new(detail).of(most);
    let mut runner =
        Runner::new(request(&flags.test, a.row.plan.clone()), Some(&interrupts), &mut progress);
    runner.observed.clone_from(&flags.test.rows.observe);
    let mut search = Alternate::new([a.row.clone(), b.row.clone()], rule, seed);
    let results = runner.search(&mut search);
    drop(progress);
    let of_side = |side: Side| AbSide { options: side.options, plan: side.row.plan, rate: None };
    let test = AbTest { sides: [a, b].map(of_side), rule, seed };
    finish(flags, form, &requirements, &test.record(flags, &search, results))
}

/// A setting, and how it is tested.
struct Side {
    options: String,
    row: Row,
    /// All else that a test has, in words: it is the same for all tests of a run.
    shared: String,
}

fn sides(flags: &AbFlags) -> Result<[Side; 2], UsageError> {
    let [a, b] = [side("--a", &flags.a)?, side("--b", &flags.b)?];
    if a.shared != b.shared {
        let text = "A and B can differ in what a stream does and in its CPUs: type other options \
                    outside of --a and --b";
        return Err(UsageError(text.to_owned()));
    }
    Ok([a, b])
}

fn side(name: &str, options: &str) -> Result<Side, UsageError> {
    let named = |text: &str| UsageError(format!("{name}: {text}"));
    let test = AbFlags::side(options).map_err(|error| {
        if !error.use_stderr() {
            return named("help and version are no settings");
        }
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        named(first.trim_start_matches("error: "))
    })?;
    let row = one_row(&test, "an A/B test").map_err(|error| named(&error.0))?;
    let TestFlags { server, rows, output, .. } = &test;
    let watched = format!("{:?} {} {:?}", rows.profile, rows.no_evidence, rows.observe);
    let shared = format!("{server:?} {watched} {output:?}");
    Ok(Side { options: options.trim().to_owned(), row, shared })
}

/// The row of what has one, by the flags of a test; `name` is what it is.
pub(super) fn one_row(test: &TestFlags, name: &str) -> Result<Row, UsageError> {
    let wrong = |text: String| Err(UsageError(text));
    if test.stream.wants_the_fastest() {
        return wrong(format!("{name} does not try engines: name one"));
    }
    if test.rows.repeat > 1 {
        return wrong("--repeat has no meaning here: type --pairs".to_owned());
    }
    let plans = plan::plans(test)?;
    let [plan] = &plans[..] else {
        return wrong(format!("{name} has one row: type --send, --receive or --bidir"));
    };
    if plan.transport == Transport::Udp && plan.options.rate.is_none() {
        return wrong("UDP needs a rate: type -b 100M, or -b 0 for as fast as possible".to_owned());
    }
    let row = Row { probe_every: probe_every(test), ..Row::of_plan(short(test, plan)?) };
    Ok(Row { cpus: test.stream.cpus.as_ref().map(|cpus| cpus.0.clone()), ..row })
}

fn probe_every(test: &TestFlags) -> Option<Duration> {
    test.rows.latency.then_some(test.rows.probe_every)
}

/// The plan, whose tests are short unless their length was typed.
fn short(test: &TestFlags, plan: &TestPlan) -> Result<TestPlan, UsageError> {
    let amount = &test.amount;
    if amount.time.is_some() || amount.bytes.is_some() || amount.blocks.is_some() {
        return Ok(plan.clone());
    }
    let mut draft = PlanDraft::from(plan.clone());
    draft.end = End::Time(USUAL_TIME);
    draft.check().map_err(|error| UsageError(error.to_string()))
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
}

impl AbTest {
    fn record(self, flags: &AbFlags, search: &Alternate, results: Results) -> AbRecord {
        let pairs = search.pairs();
        let look = Look::at(&pairs.counting, &self.rule);
        let error = exit::of_results(&results, pairs.counting.len(), "pair");
        let records = results.records.records;
        let tags = flags.test.output.tag.iter().cloned().collect();
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
    form: Form,
    requirements: &Requirements,
    record: &AbRecord,
) -> anyhow::Result<ExitCode> {
    let output = &flags.test.output;
    if let Some(keeping) = output.store.keeping("ab") {
        history::keep(&keeping, &RecordSet::new(record.records.clone()));
    }
    if record.pairs > 0 || form != Form::Text {
        output::print_table(|out| match form {
            Form::Text => ab::write(record, terminal::width(), out),
            Form::Json => json::write_indented(record, out),
            Form::Compact => json::write(record, out).and_then(|()| writeln!(out)),
        })?;
    }
    if let Some(file) = output.output.as_deref().filter(|_| !record.records.is_empty()) {
        output::write_whole(file, |out| json::write_indented(record, out))?;
    }
    let missed: Vec<_> =
        record.records.iter().flat_map(|record| requirements.missed(record)).collect();
    exit::say_missed(&missed);
    Ok(match &record.error {
        Some(error) => exit::complain(error),
        None if !missed.is_empty() => ExitCode::from(exit::MISSED),
        None if record.finding == AbFinding::TooFew => {
            exit::complain(&exit::failed("too few runs are valid: see linerate explain last -v"));
            ExitCode::from(exit::INVALID)
        }
        None => ExitCode::SUCCESS,
    })
}

/// Long enough for TCP to reach its rate on most paths.
const USUAL_TIME: Duration = Duration::from_secs(2);
