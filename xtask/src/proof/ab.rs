//! A/B tests whose answer is known: a setting against itself, and rates that differ by 5 %. What the
//! rule does with drifts, runs that depend on each other, and two levels is simulated by the tests of
//! `analysis::comparison`.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use measurement::{AbFinding, AbRecord};
use testbed::process::Running;
use testbed::topology::Path;

use super::comparison::{as_many, bounds};
use crate::hosts::{Testbed, UnderTest};
use crate::output::say;

/// Runs A/B tests, and counts wrong and right answers.
pub(super) fn run(under_test: &UnderTest) -> Result<String> {
    let (same, different) = if under_test.short { (4, 2) } else { (200, 50) };
    let bed = Testbed::new(under_test, Path::Veth)?;
    let _server = bed.serve("")?;
    let (mut alarms, mut found, mut pairs) = (0, 0, 0);
    for number in 1..=same {
        let record = ab(&bed, "--b= -t 100ms --pairs 8")?;
        if matches!(record.finding, AbFinding::Faster | AbFinding::Slower) {
            alarms += 1;
            say(format!("A/A test {number} is {:?}: {:?}", record.finding, record.effect));
        }
    }
    for number in 1..=different {
        let record = ab(&bed, "--a=-b950M --b=-b1000M -t 250ms")?;
        pairs += record.pairs;
        if record.finding == AbFinding::Faster {
            found += 1;
        } else {
            say(format!("A/B test {number} is {:?}: {:?}", record.finding, record.effect));
        }
    }
    let (low, high) = bounds(alarms, same);
    let text = format!(
        "proof ab: {alarms} of {same} A/A tests find a difference ({:.1} to {:.1} %, 95 %, \
         Clopper-Pearson); {found} of {different} find 5 %, after {:.1} pairs on average",
        low * 100.0,
        high * 100.0,
        f64::from(pairs) / f64::from(different),
    );
    ensure!(as_many(alarms, same, PROMISED) >= REFUTED, "{text}");
    // One of two may be missed on a host that does something else.
    let least = if under_test.short { 1.0 } else { FOUND * f64::from(different) };
    ensure!(f64::from(found) >= least, "{text}");
    Ok(text)
}

fn ab(bed: &Testbed<'_>, words: &str) -> Result<AbRecord> {
    let words = format!("{words} --send --no-evidence --no-store");
    let ended = Running::captured(bed.linerate("ab", &words))?.finish(LONGEST)?;
    serde_json::from_str(&ended.stdout)
        .with_context(|| format!("no record of an A/B test: {}", ended.complaint()))
}

const LONGEST: Duration = Duration::from_secs(120);
/// A/A tests that find a difference.
const PROMISED: f64 = 0.05;
/// Chance below which as many alarms refute the promise: of 200, 17 or more.
const REFUTED: f64 = 0.03;
/// Tests that find 5 %.
const FOUND: f64 = 0.9;
