//! What it costs to watch the hosts: by the clock of the thread that does, and by what a test
//! loses when it is watched.

use anyhow::{Context, Result, ensure};
use measurement::TestRecord;

use super::Presence;
use crate::hosts::{Testbed, UnderTest, record_of};
use crate::output::say;
use testbed::spread::{Spread, median, percentile};
use testbed::topology::Path;

/// Runs pairs of tests, one watched and one not, and compares.
pub(super) fn run(under_test: &UnderTest) -> Result<String> {
    let rounds = if under_test.short { 3 } else { 12 };
    let bed = Testbed::new(under_test, Path::Veth)?;
    let mut costs = Vec::new();
    let ratios = super::ratios(rounds, |evidence| {
        let words = if evidence == Presence::With { "" } else { "--no-evidence" };
        let _server = bed.serve(words)?;
        let record = record_of(bed.client(&format!("--tcp --send -t 4s {words}")))?;
        if evidence == Presence::With {
            costs.extend(shares(&record));
        }
        Ok(record)
    })?;
    let hosts = costs.len();
    let Spread { median: middle, most: worst, .. } =
        Spread::from_values(costs).context("no host was watched")?;
    say(format!("of one CPU: {middle:.3} % in the middle, at most {worst:.3} % ({hosts} hosts)"));
    let of_ratios = |percent| percentile(ratios.iter().copied(), percent).context("no pair");
    let (low, high) = (of_ratios(10)?, of_ratios(90)?);
    let median = median(ratios.iter().copied()).context("no pair")?;
    say(format!("rate with to without: {median:.3} ({low:.3} to {high:.3}, {rounds} pairs)"));
    ensure!(
        worst <= MOST_PERCENT,
        "watching took {worst:.2} % of a CPU, more than {MOST_PERCENT} %"
    );
    Ok(format!("proof cost: at most {worst:.3} % of a CPU, rate {median:.3} of that without"))
}

/// Of one CPU in percent, for each host of a test.
fn shares(record: &TestRecord) -> Vec<f64> {
    let share = |cost: f64, span: f64| 100.0 * cost / span.max(1e-9);
    let hosts = record.hosts.iter();
    hosts.map(|host| share(host.cost_seconds, host.series.span().as_secs_f64())).collect()
}

const MOST_PERCENT: f64 = 1.0;
