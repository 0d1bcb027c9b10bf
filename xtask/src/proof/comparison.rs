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
    let text = format!(
        "proof comparison: {alarms} of {comparisons} comparisons of the same show a difference, at \
         most {MOST_ALARMS} by chance; the interval of {PAIRS} pairs excludes {width:.1} %"
    );
    ensure!(alarms <= MOST_ALARMS, "{text}");
    Ok(text)
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
/// Of 50 with a chance of 5 % each, more come once in a hundred times (binomial distribution).
const MOST_ALARMS: u32 = 6;
