//! Writes the record of a tuning: each change with what it gained, the metrics before and after, and
//! what is in effect now.

use std::io::{self, Write};

use measurement::AbFinding;
use measurement::comparison::{EffectSize, RatioInterval};
use measurement::remedy::Change;
use measurement::tune::{Attempt, AttemptOutcome, MetricChange, MetricsComparison, TuneRecord};
use measurement::units::counted;

use crate::columns::{Cell, Columns, Emphasis};
use crate::heading;
use crate::screen::{labelled, sentence};
use crate::width::Width;

/// Writes `record` as text of at most `width` columns where words allow it.
///
/// # Errors
/// An error of writing to `out`.
pub fn write(record: &TuneRecord, width: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", head(record))?;
    writeln!(out)?;
    let verdict = record.verdict.iter();
    let verdict =
        verdict.flat_map(|text| labelled("VERDICT", Emphasis::Strong, &stopped(text), width));
    let attempts = record.attempts.iter().flat_map(|attempt| {
        let (label, emphasis) = label(record, attempt);
        labelled(label, emphasis, &stopped(&tried(attempt, record)), width)
    });
    verdict.chain(attempts).try_for_each(|line| writeln!(out, "{line}"))?;
    if let Some(check) = &record.check {
        writeln!(out)?;
        table(check).write(out, INDENT, Width::of(width))?;
        writeln!(out)?;
    }
    let (emphasis, text) = result(record);
    let mut lines = labelled("RESULT", emphasis, &stopped(&text), width);
    if let Some(options) = options(record) {
        lines.extend(labelled("OPTIONS", Emphasis::Strong, &stopped(&options), width));
    }
    if let Some(commands) = undo(record) {
        lines.extend(labelled("UNDO", Emphasis::Faint, &commands, width));
    }
    if !record.persisted.is_empty() {
        let files = record.persisted.join(", ");
        let text = format!("{files}, until linerate undo --persistent");
        lines.extend(labelled("FILES", Emphasis::Faint, &stopped(&text), width));
    }
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))
}

/// `linerate  10.0.0.1 -> 10.0.0.2   tuning for throughput, TCP send`.
fn head(record: &TuneRecord) -> String {
    let heading = heading::shown(&record.heading);
    let (goal, row) = (record.goal.words(), record.plan.row());
    format!("{heading}tuning for {goal}, {row}")
}

fn label(record: &TuneRecord, attempt: &Attempt) -> (&'static str, Emphasis) {
    match attempt.outcome {
        AttemptOutcome::Helped if !record.kept.is_empty() => ("KEPT", Emphasis::Good),
        AttemptOutcome::Helped | AttemptOutcome::Undone => ("UNDONE", Emphasis::Warning),
        AttemptOutcome::NotTried => ("LEFT OUT", Emphasis::Faint),
    }
}

/// `TSO is off on eth0 of this host. ethtool -K eth0 tso on (was off, is on): throughput +141.2 %
/// (+120.3 % to +163.9 %) in 4 pairs`.
fn tried(attempt: &Attempt, record: &TuneRecord) -> String {
    let changes = attempt.changes.iter().map(|one| match (&one.change.from, &one.effective) {
        (Some(from), Some(now)) => format!("{} (was {from}, is {now})", one.change.placed()),
        _ => one.change.placed(),
    });
    let why = match (&attempt.reason, &attempt.comparison) {
        (Some(reason), _) => reason.clone(),
        (None, Some(comparison)) => gain(comparison, record),
        (None, None) => "no test ended".to_owned(),
    };
    let changes = changes.collect::<Vec<_>>().join("; ");
    format!("{}. {changes}: {why}", attempt.finding)
}

/// What a comparison says of the goal, and of a metric that is hurt.
fn gain(comparison: &MetricsComparison, record: &TuneRecord) -> String {
    let Some(goal) = comparison.metrics.first() else {
        return "too few tests are valid".to_owned();
    };
    let words = goal.metric.words();
    let change = change(goal);
    let pairs = counted(comparison.pairs.into(), "pair");
    let text = match comparison.finding {
        AbFinding::Faster | AbFinding::Slower => format!("{words} {change} in {pairs}"),
        AbFinding::Equivalent => {
            let margin = record.rule.margin_ratio * 100.0;
            format!("{words} differs by less than {margin} % in {pairs}: {change}")
        }
        AbFinding::NotShown => format!("no difference of {words} shown in {pairs}: {change}"),
        AbFinding::TooFew => "too few tests are valid".to_owned(),
    };
    match comparison.hurt() {
        Some(hurt) => {
            let guard = record.guard_ratio * 100.0;
            let (words, change) = (hurt.metric.words(), self::change(hurt));
            format!("{text}, but {words} {change} is worse than the guard of {guard} %")
        }
        None => text,
    }
}

/// `+141.2 % (+120.3 % to +163.9 %)`.
fn change(metric: &MetricChange) -> String {
    match metric.effect {
        Some(EffectSize { ratio, interval: Some(RatioInterval { low, high }) }) => {
            format!("{} ({} to {})", percent(ratio), percent(low), percent(high))
        }
        _ => percent(metric.after / metric.before),
    }
}

/// Change of a metric beside the goal: an interval with no change in it shows nothing, however wide
/// it is.
fn shown(metric: &MetricChange) -> String {
    let interval = metric.effect.and_then(|effect| effect.interval);
    match interval {
        Some(RatioInterval { low, high }) if low <= 1.0 && high >= 1.0 => {
            format!("no change shown ({} to {})", percent(low), percent(high))
        }
        _ => change(metric),
    }
}

/// The metrics before any change, and with all that helped.
fn table(check: &MetricsComparison) -> Columns {
    let mut columns = Columns::default();
    let titles = ["", "before", "after", "change (interval)"];
    columns.push(titles.map(|title| Cell::new(title, Emphasis::Faint)).to_vec());
    for (place, one) in check.metrics.iter().enumerate() {
        let emphasis = if place == 0 { Emphasis::Strong } else { Emphasis::None };
        columns.push(vec![
            one.metric.words().into(),
            one.metric.show(one.before).into(),
            Cell::new(one.metric.show(one.after), emphasis),
            shown(one).into(),
        ]);
    }
    columns
}

fn result(record: &TuneRecord) -> (Emphasis, String) {
    if let (Some(check), false) = (&record.check, record.kept.is_empty()) {
        let confidence = record.rule.confidence * 100.0;
        let changes = counted(record.kept.len() as u64, "change");
        let goal = check.metrics.first();
        let goal = goal.map(|goal| format!("{} {}", goal.metric.words(), change(goal)));
        let text = format!(
            "{changes} kept: {} with confidence {confidence:.0} %; all else is as before",
            goal.unwrap_or_default()
        );
        return (Emphasis::Good, text);
    }
    let is_made = |one: &Attempt| one.outcome != AttemptOutcome::NotTried;
    let text = match &record.check {
        _ if record.error.is_some() => "nothing is kept: the tuning ended early".to_owned(),
        Some(check) if check.helps() => {
            "what helped is undone, as you asked: all is as before".to_owned()
        }
        Some(check) => {
            format!("all is as before: together the changes do not help: {}", gain(check, record))
        }
        None if record.attempts.is_empty() => {
            "all is as before: no verdict names a setting to change".to_owned()
        }
        None if !record.attempts.iter().any(is_made) => {
            "all is as before: no change was made".to_owned()
        }
        None => "all is as before: no change helps".to_owned(),
    };
    (Emphasis::Warning, text)
}

/// Options that the test has to have for what was kept.
fn options(record: &TuneRecord) -> Option<String> {
    let kept = record.kept.iter().map(|one| &one.change);
    let options = kept.filter(|change| change.setting.is_option()).map(Change::command);
    let options = options.collect::<Vec<_>>().join(" ");
    (!options.is_empty()).then(|| format!("run the test with {options} from now on"))
}

/// Commands that undo what was kept, the latest change first.
fn undo(record: &TuneRecord) -> Option<String> {
    let kept = record.kept.iter().rev();
    let commands =
        kept.flat_map(|one| one.undo.iter().map(|command| one.change.on_its_host(command)));
    let commands = commands.collect::<Vec<_>>().join("; ");
    (!commands.is_empty()).then_some(commands)
}

/// `+5.2 %` for 1.052, `+141 %` for 2.41.
fn percent(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    if percent.abs() < 100.0 { format!("{percent:+.1} %") } else { format!("{percent:+.0} %") }
}

/// A sentence with its full stop.
fn stopped(text: &str) -> String {
    format!("{}.", sentence(text.trim_end_matches('.')))
}

const INDENT: usize = 2;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use measurement::Heading;
    use measurement::host::Role;
    use measurement::plan::PlanDraft;
    use measurement::record::{ErrorKind, RunError};
    use measurement::remedy::{Setting, Switch};
    use measurement::tune::TriedChange;
    use measurement::{AbRule, Direction, Metric, RuleId, Transport};

    use super::*;
    use crate::columns::plain;

    fn metric(metric: Metric, before: f64, ratio: f64) -> MetricChange {
        let interval = RatioInterval { low: ratio * 0.97, high: ratio * 1.03 };
        MetricChange {
            metric,
            before,
            after: before * ratio,
            effect: Some(EffectSize { ratio, interval: Some(interval) }),
            beyond_guard: false,
        }
    }

    fn comparison(finding: AbFinding, ratio: f64) -> MetricsComparison {
        let metrics = vec![
            metric(Metric::Throughput, 9.47e9, ratio),
            metric(Metric::Latency, 0.000_21, 1.04),
            metric(Metric::Cpu, 1.7, 0.43),
        ];
        MetricsComparison { pairs: 4, repeated: 0, finding, metrics }
    }

    fn change(setting: Setting, undo: &str) -> TriedChange {
        let change = Change::new(&Role::Here, setting).replacing("off");
        TriedChange { undo: vec![undo.to_owned()], ..TriedChange::not_made(change) }
    }

    fn feature(feature: &str) -> Setting {
        let (interface, feature) = ("eth0".to_owned(), feature.to_owned());
        Setting::Feature { interface, feature, state: Switch::On }
    }

    fn attempt(changes: Vec<TriedChange>, outcome: AttemptOutcome) -> Attempt {
        Attempt {
            rule: RuleId::TsoOff,
            finding: "TSO is off on eth0 of this host".to_owned(),
            changes,
            outcome,
            reason: None,
            comparison: None,
        }
    }

    fn record() -> TuneRecord {
        let made = change(feature("tso"), "ethtool -K eth0 tso off");
        let made = TriedChange { effective: Some("on".to_owned()), ..made };
        let mut helped = attempt(vec![made.clone()], AttemptOutcome::Helped);
        helped.comparison = Some(comparison(AbFinding::Faster, 2.44));
        let mut undone = attempt(vec![made.clone()], AttemptOutcome::Undone);
        undone.comparison = Some(comparison(AbFinding::Equivalent, 1.001));
        let mut left_out = attempt(vec![change(feature("tx"), "")], AttemptOutcome::NotTried);
        left_out.reason = Some("tx of eth0 cannot be changed".to_owned());
        TuneRecord {
            heading: Heading::new(BTreeMap::new(), None),
            plan: PlanDraft::new(Transport::Tcp, Direction::Send).check().expect("a plan"),
            goal: Metric::Throughput,
            rule: AbRule { most_pairs: 16, margin_ratio: 0.02, confidence: 0.95 },
            guard_ratio: 0.1,
            seed: 1,
            verdict: Some("TSO is off on eth0 of this host; turn TSO on".to_owned()),
            attempts: vec![helped, undone, left_out],
            check: Some(comparison(AbFinding::Faster, 2.41)),
            kept: vec![made],
            persisted: vec!["/etc/linerate/tuning.sh".to_owned()],
            records: Vec::new(),
            error: None,
        }
    }

    fn text(record: &TuneRecord) -> String {
        let mut out = Vec::new();
        write(record, 80, &mut out).expect("a vector");
        plain(&String::from_utf8(out).expect("text"))
    }

    #[test]
    fn a_tuning_fits_a_terminal() {
        let text = text(&record());
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn what_ends_otherwise_is_one_sentence() {
        let last = |record: &TuneRecord| result(record).1;
        let kept = record();
        let undone = TuneRecord { kept: Vec::new(), ..kept.clone() };
        let mut hurt = undone.clone();
        let check = hurt.check.as_mut().expect("a check");
        check.metrics[1] =
            MetricChange { beyond_guard: true, ..metric(Metric::Latency, 0.01, 3.0) };
        let message = "interrupted".to_owned();
        let error = RunError { message, kind: ErrorKind::Interrupted, exit_code: 130 };
        let cut = TuneRecord { check: None, error: Some(error), ..undone.clone() };
        let without = |attempts: &[Attempt]| TuneRecord {
            attempts: attempts.to_vec(),
            error: None,
            ..cut.clone()
        };
        let (no_use, not_made) = (without(&cut.attempts[1..]), without(&cut.attempts[2..]));
        let none = without(&[]);
        let texts = [&kept, &undone, &hurt, &cut, &no_use, &not_made, &none].map(last);
        insta::assert_snapshot!(texts.join("\n"));
    }
}
