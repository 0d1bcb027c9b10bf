//! What it costs to watch the hosts: by the clock of the thread that does, by what a test loses
//! when it is watched, and by what the kernel counts of the processes.

use anyhow::{Context, Result, ensure};
use measurement::{Role, TestRecord};

use super::Presence;
use crate::hosts::{Testbed, UnderTest, record_of, run_client};
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
    accounted(under_test, &bed)?;
    Ok(format!("proof cost: at most {worst:.3} % of a CPU, rate {median:.3} of that without"))
}

/// Compares what the records tell of the CPU time with what the kernel counted: how much more it
/// is with the hosts watched than without.
fn accounted(under_test: &UnderTest, bed: &Testbed<'_>) -> Result<()> {
    let tests = if under_test.short { 5 } else { 15 };
    let with = counted(bed, "", tests)?;
    let without = counted(bed, "--no-evidence", tests)?;
    let mut off = Vec::new();
    for (end, with, without, tolerance) in [
        ("client", with.client, without.client, JUDGING),
        ("server", with.server, without.server, TOLERANCE),
    ] {
        let (more, told) = (with.counted - without.counted, with.told);
        let each = |seconds: f64| 1e3 * seconds / f64::from(tests);
        say(format!(
            "{end}: watching took {:.1} ms of CPU for each test, of which records tell {:.1} ms; \
             {:.1} ms without",
            each(more),
            each(told),
            each(without.counted)
        ));
        if (more - told).abs() > tolerance * more.max(told) + TICK {
            off.push(end);
        }
    }
    ensure!(off.is_empty(), "the cost of watching is not what the record of the {} tells", off[0]);
    Ok(())
}

/// CPU time of the two ends in some tests, in seconds.
#[derive(Clone, Copy, Debug, Default)]
struct BothEnds {
    client: Account,
    server: Account,
}

/// CPU time of one end: what the kernel counted, and what records tell of it.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    counted: f64,
    told: f64,
}

/// Runs `tests` tests that move little, one after another with one server.
fn counted(bed: &Testbed<'_>, words: &str, tests: u32) -> Result<BothEnds> {
    let server = bed.serve(words)?;
    let begun = server.usage().cpu_time()?;
    let mut both = BothEnds::default();
    for _ in 0..tests {
        let test = format!("--tcp --send -b 1M -t 2s {words}");
        let run = run_client(bed.client(&test))?;
        both.client.counted += run.cpu.as_secs_f64();
        for host in &run.record.hosts {
            let end = if host.role == Role::Here { &mut both.client } else { &mut both.server };
            end.told += host.cost_seconds + host.resolving_seconds;
        }
    }
    both.server.counted = server.usage().cpu_time()?.saturating_sub(begun).as_secs_f64();
    Ok(both)
}

/// Of one CPU in percent, for each host of a test.
fn shares(record: &TestRecord) -> Vec<f64> {
    let share = |cost: f64, span: f64| 100.0 * cost / span.max(1e-9);
    let hosts = record.hosts.iter();
    hosts.map(|host| share(host.cost_seconds, host.series.span().as_secs_f64())).collect()
}

const MOST_PERCENT: f64 = 1.0;
/// By how much the two accounts may differ.
const TOLERANCE: f64 = 0.1;
/// The client also judges and prints what was seen, which no record can tell of itself.
const JUDGING: f64 = 0.25;
/// `/proc/PID/stat` counts in hundredths of a second.
const TICK: f64 = 0.01;
