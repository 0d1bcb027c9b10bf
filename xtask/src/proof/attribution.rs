//! Where CPU time went: how much of it has a name for every way that data go, and what it costs
//! to look.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use measurement::profile::Mode;
use measurement::{Attribution, HostEvidence, Profile, TestRecord, Work};

use super::{Outcome, Presence};
use crate::hosts::{Testbed, UnderTest, judgement, record_of};
use crate::output::say;
use testbed::spread::Spread;
use testbed::topology::Path;

/// A way in which data go through a kernel.
struct Load {
    name: &'static str,
    words: &'static str,
}

/// Every load over every path, then pairs of tests with samples and without.
pub(super) fn run(under_test: &UnderTest) -> Result<Vec<Outcome>> {
    let mut cases = Vec::new();
    for path in [Path::Veth, Path::Loopback] {
        for load in &LOADS {
            cases.extend(named(under_test, path, load)?);
        }
    }
    compare(under_test)?;
    Ok(cases)
}

/// One case for what was named, and one for what it cost; both hosts sample all CPUs.
fn named(under_test: &UnderTest, path: Path, load: &Load) -> Result<[Outcome; 2]> {
    let seconds = if under_test.short { 2 } else { 6 };
    let bed = Testbed::new(under_test, path)?;
    let record = sampled(&bed, &format!("{} -t {seconds}s", load.words), HERTZ)?;
    let attributions = &judgement(&record)?.attributions;
    ensure!(!attributions.is_empty(), "no host was sampled: {:?}", gaps(&record));
    let worst = attributions.iter().map(|one| one.labelled).fold(1.0, f64::min);
    let name = format!("{}, {path:?}", load.name);
    let seen = attributions.iter().map(|one| show(one, &record)).collect::<Vec<_>>().join("; ");
    let costs: Vec<_> = record.hosts.iter().map(cost).collect();
    let cost = costs.iter().copied().fold(0.0, f64::max);
    let told = format!("at most {cost:.2} % of a CPU for the thread that watches");
    Ok([
        Outcome::show(format!("{name}: names"), seen, worst >= LEAST_LABELLED),
        Outcome::show(format!("{name}: cost"), told, cost <= MOST_PERCENT),
    ])
}

fn sampled(bed: &Testbed, words: &str, hertz: u32) -> Result<TestRecord> {
    let _server = bed.serve(&format!("--profile {hertz}"))?;
    record_of(bed.client(&format!("{words} --profile {hertz}")))
}

fn gaps(record: &TestRecord) -> Vec<&str> {
    let gaps = record.hosts.iter().flat_map(|host| &host.gaps);
    gaps.map(|gap| gap.why.as_str()).collect()
}

/// Of one CPU in percent: gathering counters and samples, and the names at the end.
fn cost(host: &HostEvidence) -> f64 {
    100.0 * host.cost_seconds / host.series.span().as_secs_f64().max(1e-9)
}

fn show(attribution: &Attribution, record: &TestRecord) -> String {
    let host = record.hosts.iter().find(|host| host.role == attribution.host);
    let profile = host.and_then(|host| host.profile.as_ref());
    let unknown = profile.map(unknown).unwrap_or_default();
    let (labelled, samples) = (100.0 * attribution.labelled, attribution.samples);
    format!("{:?} {labelled:.1} % of {samples}{unknown}", attribution.host)
}

/// The functions without a kind of work that were found most often.
fn unknown(profile: &Profile) -> String {
    let in_kernel = profile.rows.iter().filter(|row| row.mode == Mode::Kernel);
    let strange = in_kernel.filter(|row| {
        let alone =
            Profile { rows: vec![(*row).clone()], samples: row.count, ..Profile::default() };
        analysis::attribute(&alone, None, None).work.contains_key(&Work::Other)
    });
    let mut counts = BTreeMap::<&str, u64>::new();
    strange.for_each(|row| *counts.entry(&row.symbol).or_default() += row.count);
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let shown = counts.iter().take(5).map(|(symbol, count)| format!("{symbol} {count}"));
    let shown: Vec<_> = shown.collect();
    if shown.is_empty() { String::new() } else { format!(" (not known: {})", shown.join(", ")) }
}

/// The interrupts that take samples are no thread's time: what they take is in the rate that a
/// test on full CPUs loses.
fn compare(under_test: &UnderTest) -> Result<()> {
    let rounds = if under_test.short { 4 } else { 12 };
    let bed = Testbed::new(under_test, Path::Veth)?;
    let ratios = super::ratios(rounds, |samples| {
        let hertz = if samples == Presence::With { HERTZ } else { 0 };
        sampled(&bed, "--tcp --send -t 3s", hertz)
    })?;
    let Spread { median, least, most } = Spread::from_values(ratios).context("no pair of rates")?;
    say(format!(
        "rate with {HERTZ} samples a second to without: {median:.3} ({least:.3} to {most:.3}, \
         {rounds} pairs); what the samples' interrupts take is in it"
    ));
    Ok(())
}

const LOADS: [Load; 4] = [
    Load { name: "TCP", words: "--tcp --send" },
    Load { name: "UDP", words: "--udp --send -b 0 --engine sendmmsg,recvmmsg" },
    Load { name: "UDP in pieces", words: "--udp --send -b 0 -l 1400 --engine gso,gro" },
    Load { name: "TCP of 64 streams", words: "--tcp --send -P 64" },
];
const HERTZ: u32 = 997;
const LEAST_LABELLED: f64 = 0.95;
const MOST_PERCENT: f64 = 3.0;
