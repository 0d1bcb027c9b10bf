//! Comparisons of the same: a test against itself, run in turns over loopback.

use anyhow::{Result, ensure};
use measurement::TestRecord;
use measurement::comparison::Method;

use crate::hosts::{Testbed, UnderTest, record_of};
use crate::output::say;
use testbed::topology::Path;

/// Compares tests with themselves, and counts how often a difference is shown.
pub(super) fn run(under_test: &UnderTest) -> Result<String> {
    let comparisons = if under_test.short { 5 } else { 50 };
    let bed = Testbed::new(under_test, Path::Loopback)?;
    let _server = bed.serve("")?;
    let (mut alarms, mut widths) = (0, Vec::new());
    for number in 1..=comparisons {
        let (before, after) = sides(&bed)?;
        let compared = analysis::comparison::compare(&before, &after);
        let Some(row) = compared.rows.first() else { continue };
        ensure!(row.method == Method::Paired, "the runs of comparison {number} are no pairs");
        let interval = row.effect.and_then(|effect| effect.interval);
        widths.extend(interval.map(|interval| interval.widest()));
        if let Some(change) = row.shown() {
            alarms += 1;
            say(format!("comparison {number} of the same shows {change:?}: {interval:?}"));
        }
    }
    let width = testbed::spread::median(widths).unwrap_or(f64::NAN) * 100.0;
    let chance = as_many(alarms, comparisons, PROMISED) * 100.0;
    let (least, most) = bounds(alarms, comparisons);
    let text = format!(
        "proof comparison: {alarms} of {comparisons} comparisons of the same show a difference; at a \
         rate of 5 % as many come in {chance:.0} % of such proofs; the rate is {:.1} to {:.1} % \
         (95 %, Clopper-Pearson); the interval of {PAIRS} pairs excludes {width:.1} %",
        least * 100.0,
        most * 100.0,
    );
    ensure!(as_many(alarms, comparisons, PROMISED) >= REFUTED, "{text}");
    Ok(text)
}

/// The chance of `count` or more of `trials`, each with the same chance (binomial distribution).
pub(super) fn as_many(count: u32, trials: u32, chance: f64) -> f64 {
    let fewer: f64 = (0..count).map(|each| exactly(each, trials, chance)).sum();
    1.0 - fewer
}

fn exactly(count: u32, trials: u32, chance: f64) -> f64 {
    let factor = |at: u32| f64::from(trials - at) / f64::from(at + 1) * chance / (1.0 - chance);
    (0..count).map(factor).product::<f64>() * (1.0 - chance).powf(f64::from(trials))
}

/// The chances that `count` of `trials` leave open with 95 % (Clopper and Pearson, 1934).
pub(super) fn bounds(count: u32, trials: u32) -> (f64, f64) {
    let least = solve(|chance| as_many(count, trials, chance) >= 0.025);
    let most = solve(|chance| 1.0 - as_many(count + 1, trials, chance) <= 0.025);
    (if count == 0 { 0.0 } else { least }, if count == trials { 1.0 } else { most })
}

/// The least number between 0 and 1 for which `holds`.
fn solve(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0_f64, 1.0);
    for _ in 0..50 {
        let middle = low.midpoint(high);
        if holds(middle) { high = middle } else { low = middle }
    }
    high
}

/// Runs of both sides in turns, so that each is first as often as the other.
fn sides(bed: &Testbed<'_>) -> Result<(Vec<TestRecord>, Vec<TestRecord>)> {
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for pair in 0..PAIRS {
        let (first, second) = (test(bed)?, test(bed)?);
        let (one, other) = if pair % 2 == 0 { (first, second) } else { (second, first) };
        before.push(one);
        after.push(other);
    }
    Ok((before, after))
}

/// A run without its stamp: on a host that does something else it may be INVALID.
fn test(bed: &Testbed<'_>) -> Result<TestRecord> {
    let mut record = record_of(bed.client("--tcp --send -t 150ms --no-evidence --no-store"))?;
    record.judgement = None;
    Ok(record)
}

const PAIRS: usize = 5;
/// Of comparisons of the same that show a difference.
const PROMISED: f64 = 0.05;
/// Chance below which as many alarms refute the promise: of 50, 7 or more. No number of alarms of 50
/// shows that the rate is at most 5 %: without any it may be 7 %.
const REFUTED: f64 = 0.02;

#[cfg(test)]
mod tests {
    use super::*;

    fn agrees(one: f64, other: f64) {
        assert!((one - other).abs() < 5e-4, "{one} {other}");
    }

    #[test]
    fn chances_are_those_of_the_binomial_distribution() {
        // By sums of exact binomial coefficients.
        agrees(as_many(0, 50, 0.05), 1.0);
        agrees(as_many(5, 50, 0.05), 0.1036);
        agrees(as_many(6, 50, 0.05), 0.0378);
        agrees(as_many(7, 50, 0.05), 0.0118);
        let (least, most) = bounds(5, 50);
        agrees(least, 0.0333);
        agrees(most, 0.2181);
        agrees(bounds(0, 50).1, 0.0711);
        agrees(bounds(50, 50).0, 0.9289);
    }
}
