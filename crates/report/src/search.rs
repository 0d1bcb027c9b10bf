//! Writes the record of a search for throughput: a row a goal, the curve of what arrives over what
//! is offered, and what limits.

use std::io::{self, Write};
use std::time::Duration;

use measurement::{
    BitRate, GoalEnd, GoalResult, Order, SearchLimit, SearchRecord, SearchTrial, Stamp,
};

use crate::columns::{Cell, Columns, Emphasis};
use crate::heading;
use crate::screen::{labelled, sentence};
use crate::width::Width;

/// How much is written of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Curve {
    /// A point a load, without those between the bounds.
    Short,
    /// Every trial, in order, and in what the search deviates from RFC 2544.
    Trials,
}

/// Writes `record` as text of at most `width` columns where words allow it.
///
/// # Errors
/// An error of writing to `out`.
pub fn write(
    record: &SearchRecord,
    curve: Curve,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "{}", head(record))?;
    writeln!(out)?;
    goals(&record.goals).write(out, INDENT, Width::of(width))?;
    writeln!(out)?;
    match curve {
        Curve::Short => points(record).write(out, INDENT, Width::of(width))?,
        Curve::Trials => trials(&record.trials).write(out, INDENT, Width::of(width))?,
    }
    writeln!(out)?;
    for line in closing(record, curve, width) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// `linerate  10.0.0.1 -> 10.0.0.2   UDP send   21 trials in 12.3 s`.
fn head(record: &SearchRecord) -> String {
    format!(
        "{}{}   {} in {}",
        heading::shown(&record.heading),
        record.plan.row(),
        count(record.trials.len()),
        seconds(record.took)
    )
}

fn count(trials: usize) -> String {
    if trials == 1 { "1 trial".to_owned() } else { format!("{trials} trials") }
}

fn goals(results: &[GoalResult]) -> Columns {
    let mut columns = Columns::default();
    columns.push(faint(&[
        "loss",
        "lower bound",
        "upper bound",
        "width",
        "throughput",
        "trials",
        "time",
    ]));
    for result in results {
        let rate = |rate: Option<_>| {
            rate.map_or("-".to_owned(), |rate: measurement::BitRate| rate.to_string())
        };
        let width = result.width().map_or("-".to_owned(), percent);
        let is_wide = result.end != GoalEnd::Width;
        columns.push(vec![
            percent(result.goal.loss_ratio).into(),
            Cell::new(rate(result.lower), Emphasis::Strong),
            rate(result.upper).into(),
            Cell::new(width, if is_wide { Emphasis::Warning } else { Emphasis::None }),
            rate(result.throughput).into(),
            result.trials.to_string().into(),
            seconds(result.took).into(),
        ]);
    }
    columns
}

/// A point a load: at the bounds, and away from them.
fn points(record: &SearchRecord) -> Columns {
    let mut loads: Vec<_> = record.trials.iter().map(|trial| trial.intended).collect();
    loads.order();
    loads.dedup();
    let bounds: Vec<_> =
        record.goals.iter().flat_map(|goal| [goal.lower, goal.upper]).flatten().collect();
    let is_between = |load: u64| {
        let (Some(least), Some(most)) = (bounds.iter().min(), bounds.iter().max()) else {
            return false;
        };
        let (least, most) = (least.bits_per_second(), most.bits_per_second());
        (least - least / NEAR..=most + most / NEAR).contains(&load)
    };
    let mut columns = Columns::default();
    columns.push(faint(&TITLES[1..]));
    for load in loads {
        if is_between(load.bits_per_second()) && !bounds.contains(&load) {
            continue;
        }
        let is_upper = record.goals.iter().any(|goal| goal.upper == Some(load));
        if let Some(trial) = telling(record, load, is_upper) {
            columns.push(cells(trial).split_off(1));
        }
    }
    columns
}

/// The trial of a load that shows what was made of it: of the longest, where a queue or a token bucket
/// hides less, that of which least arrived for an upper bound, and else most.
fn telling(record: &SearchRecord, load: BitRate, is_upper: bool) -> Option<&SearchTrial> {
    let trials = || record.trials.iter().filter(move |trial| trial.intended == load);
    let longest = trials().map(|trial| trial.duration).max()?;
    let long = trials().filter(|trial| trial.duration * 2 >= longest);
    let arrived = |trial: &&SearchTrial| (trial.delivered, trial.duration);
    if is_upper { long.min_by_key(arrived) } else { long.max_by_key(arrived) }
}

pub(crate) fn trials(trials: &[SearchTrial]) -> Columns {
    let mut columns = Columns::default();
    columns.push(faint(&TITLES));
    for trial in trials {
        columns.push(cells(trial));
    }
    columns
}

/// A trial in a line, without columns.
pub fn line(trial: &SearchTrial) -> String {
    let SearchTrial { purpose, intended, offered, delivered, .. } = trial;
    let (time, late) = (seconds(trial.duration), millis(trial.delay));
    let lost = percent(trial.lost_ratio);
    format!(
        "{purpose} {intended} for {time}: {offered} offered, {delivered} arrived, {lost} lost, \
         {late} late, {}",
        trial.stamp
    )
}

fn cells(trial: &SearchTrial) -> Vec<Cell> {
    let stamp = match trial.stamp {
        Stamp::Valid => Emphasis::Good,
        Stamp::Suspect => Emphasis::Warning,
        Stamp::Invalid => Emphasis::Bad,
    };
    vec![
        trial.purpose.to_string().into(),
        trial.intended.to_string().into(),
        trial.offered.to_string().into(),
        Cell::new(trial.delivered.to_string(), Emphasis::Strong),
        percent(trial.lost_ratio).into(),
        millis(trial.delay).into(),
        seconds(trial.duration).into(),
        Cell::new(trial.stamp.to_string(), stamp),
    ]
}

fn closing(record: &SearchRecord, curve: Curve, width: usize) -> Vec<String> {
    let kind = match record.limit {
        SearchLimit::Knee => "knee",
        SearchLimit::Ceiling => "ceiling: the sender offers no more",
        SearchLimit::None => "no load failed",
    };
    let verdict = record.verdict.as_ref().map(|verdict| format!("; {verdict}"));
    let limit = format!("{kind}{}", verdict.unwrap_or_default());
    let mut lines = labelled("LIMIT", Emphasis::Strong, &sentence(&limit), width);
    let mut notes: Vec<_> = record.goals.iter().filter_map(unfinished).collect();
    notes.extend(record.remarks.iter().cloned());
    if curve == Curve::Trials {
        notes.extend(record.deviations.iter().map(|text| format!("not as RFC 2544: {text}")));
    }
    for note in notes {
        lines.extend(labelled("NOTE", Emphasis::Warning, &sentence(&note), width));
    }
    lines
}

/// Why the bounds of a goal are not as close as was asked.
fn unfinished(result: &GoalResult) -> Option<String> {
    let loss = percent(result.goal.loss_ratio);
    let width = percent(result.goal.width_ratio);
    match result.end {
        GoalEnd::Width => None,
        GoalEnd::Budget => Some(format!(
            "loss {loss}: the time was over before the bounds were within {width}; give more with \
             --budget"
        )),
        GoalEnd::Stopped => {
            Some(format!("loss {loss}: the search ended before the bounds were within {width}"))
        }
        GoalEnd::MaxLoad => Some(format!("loss {loss}: the highest load that may be tried passes")),
        GoalEnd::MinLoad => Some(format!("loss {loss}: not even the lowest load passes")),
        GoalEnd::FewDatagrams => Some(format!(
            "loss {loss}: trials have too few datagrams to see it; take a longer --final-trial"
        )),
    }
}

fn faint(titles: &[&str]) -> Vec<Cell> {
    titles.iter().map(|title| Cell::new(*title, Emphasis::Faint)).collect()
}

/// `0 %`, `0.1 %`, `12 %`: no more digits than tell something.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let text = if percent >= 10.0 { format!("{percent:.1}") } else { format!("{percent:.2}") };
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} %")
}

pub(crate) fn seconds(span: Duration) -> String {
    format!("{:.2} s", span.as_secs_f64())
}

fn millis(span: Duration) -> String {
    format!("{:.1} ms", span.as_secs_f64() * 1e3)
}

const INDENT: usize = 2;
const TITLES: [&str; 8] = ["trial", "load", "offered", "arrived", "lost", "late", "time", "trust"];
/// Of a bound: one part in so many, within which points are left out.
const NEAR: u64 = 50;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use measurement::plan::PlanDraft;
    use measurement::{BitRate, Direction, Heading, SearchGoal, Transport, TrialPurpose};

    use super::*;
    use crate::columns::plain;

    fn rate(kbps: u64) -> BitRate {
        BitRate::from_bits_per_second(kbps * 1_000)
    }

    fn trial(purpose: TrialPurpose, intended: u64, delivered: u64, millis: u64) -> SearchTrial {
        let duration = Duration::from_millis(millis);
        SearchTrial {
            purpose,
            intended: rate(intended),
            offered: rate(intended),
            delivered: rate(delivered),
            sustained: None,
            duration,
            took: duration + Duration::from_millis(40),
            datagrams: Some(1_000),
            lost_ratio: (intended - delivered) as f64 / intended as f64,
            delay: Duration::from_micros(1_400),
            stamp: Stamp::Valid,
            disturbed: false,
        }
    }

    fn record() -> SearchRecord {
        let result = |loss, lower, upper, end| GoalResult {
            goal: SearchGoal::of_loss(loss),
            lower: Some(rate(lower)),
            upper,
            throughput: Some(rate(lower)),
            trials: 4,
            took: Duration::from_millis(4_170),
            end,
        };
        let goals = vec![
            result(0.0, 99_530, Some(rate(100_470)), GoalEnd::Width),
            result(0.01, 100_470, None, GoalEnd::Budget),
        ];
        let trials = vec![
            trial(TrialPurpose::Ramp, 40_000, 40_000, 100),
            trial(TrialPurpose::Ramp, 160_000, 98_700, 100),
            trial(TrialPurpose::Bound, 99_530, 99_530, 1_000),
            trial(TrialPurpose::Bound, 99_900, 99_900, 250),
            trial(TrialPurpose::Bound, 100_470, 100_000, 1_600),
        ];
        SearchRecord {
            heading: Heading::new(BTreeMap::new(), None),
            plan: PlanDraft::new(Transport::Udp, Direction::Send).check().expect("a plan"),
            limit: SearchLimit::Knee,
            verdict: Some("the path is the limit".to_owned()),
            remarks: vec!["an overload collapses".to_owned()],
            deviations: vec!["trials are short".to_owned()],
            took: Duration::from_millis(3_250),
            trials,
            goals,
            evidence: None,
            error: None,
        }
    }

    fn text(curve: Curve) -> String {
        let mut out = Vec::new();
        write(&record(), curve, 80, &mut out).expect("a vector takes all");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn goals_curve_and_limit_fit_a_terminal() {
        let text = text(Curve::Short);
        let plain = plain(&text);
        assert!(plain.lines().all(|line| line.chars().count() <= 80), "{plain}");
        insta::assert_snapshot!(plain);
    }

    #[test]
    fn every_trial_and_deviation_is_told_on_request() {
        insta::assert_snapshot!(plain(&text(Curve::Trials)));
    }

    #[test]
    fn shares_have_no_more_digits_than_they_need() {
        let shown: Vec<_> = [0.0, 0.001, 0.01, 0.123, 0.009_5, 1.0].map(percent).into();
        assert_eq!(shown, ["0 %", "0.1 %", "1 %", "12.3 %", "0.95 %", "100 %"]);
    }
}
