//! Where CPU time went: samples by the kind of work, for each host and CPU.

mod shares;
mod symbols;
mod what_if;

use std::collections::BTreeMap;
use std::time::Duration;

use measurement::verdict::{Cost, CpuWork, Work};
use measurement::{
    Attribution, BitRate, DirectionOutcome, HostEvidence, IntoMap, Profile, Role, TestRecord,
};

use crate::evidence::HostView;

use shares::Shares;
use symbols::Symbols;

/// Of each host of `record` that was sampled.
pub(crate) fn attributions(record: &TestRecord) -> Vec<Attribution> {
    record.hosts.iter().filter_map(|evidence| of_host(record, evidence)).collect()
}

/// Attributes the CPU time of an imported profile, of a kernel on `architecture` (`uname -m`; none:
/// not known), to kinds of work. With the `rate` that was reached meanwhile the result has
/// estimates of the rate without each kind of work, assuming that the CPU was fully used.
pub fn of_profile(
    profile: &Profile,
    architecture: Option<&str>,
    rate: Option<BitRate>,
) -> Attribution {
    let shares = Shares::from_profile(profile, &Symbols::for_architecture(architecture));
    let what_if = rate.map(|rate| what_if::ceilings(&shares.work(), rate)).unwrap_or_default();
    Attribution { what_if, ..attribution(Role::Here, profile, &shares, None) }
}

fn of_host(record: &TestRecord, evidence: &HostEvidence) -> Option<Attribution> {
    let profile = evidence.profile.as_ref()?;
    let architecture = Some(evidence.inventory.architecture.as_str()).filter(|it| !it.is_empty());
    let interfaces = evidence.inventory.interfaces.iter();
    let drivers = interfaces.filter_map(|interface| interface.driver.as_deref());
    let shares = Shares::from_profile(
        profile,
        &Symbols::for_architecture(architecture).with_drivers(drivers),
    );
    let host = HostView::from_record(record, evidence);
    let cpus = shares.cpus(&host);
    let full = shares.carrier(&cpus).map(|cpu| &cpu.work);
    let what_if = full.zip(rate(record)).map(|(work, rate)| what_if::ceilings(work, rate));
    let spent = nanos_per_kib(record, busy(profile, &shares, &host));
    let reported = attribution(evidence.role.clone(), profile, &shares, spent);
    let cpus = cpus.into_iter().map(tidy_cpu).collect();
    Some(Attribution { cpus, what_if: what_if.unwrap_or_default(), ..reported })
}

fn attribution(
    host: Role,
    profile: &Profile,
    shares: &Shares,
    nanos_per_kib: Option<f64>,
) -> Attribution {
    let cost = |share| Cost {
        share: tidy(share),
        nanos_per_kib: nanos_per_kib.map(|nanos| tidy(nanos * share)),
    };
    Attribution {
        host,
        source: profile.source.clone(),
        samples: shares.busy,
        labelled: tidy(shares.labelled()),
        work: shares.work().into_iter().map(|(work, share)| (work, cost(share))).into_map(),
        cpus: Vec::new(),
        what_if: Vec::new(),
    }
}

/// A number without the digits that no sampling gives, which make a record long.
fn tidy(number: f64) -> f64 {
    (number * TIDY).round() / TIDY
}

fn tidy_cpu(cpu: CpuWork) -> CpuWork {
    let work = cpu.work.into_iter().map(|(work, share)| (work, tidy(share))).into_map();
    CpuWork { busy: tidy(cpu.busy), work, ..cpu }
}

/// The rate that could be more: one that was asked and kept says nothing of what could be.
fn rate(record: &TestRecord) -> Option<BitRate> {
    let rate = record.outcome.rate()?;
    let asked = record.outcome.directions.iter().filter_map(|direction| direction.asked);
    let is_kept = asked.clone().next().is_some()
        && rate.bits_per_second() as f64
            >= KEPT * asked.map(|asked| asked.bits_per_second() as f64).sum::<f64>();
    Some(rate).filter(|_| !is_kept)
}

/// How long CPUs were busy while samples were taken.
fn busy(profile: &Profile, shares: &Shares, host: &HostView<'_>) -> Option<Duration> {
    if profile.event.starts_with("cpu-clock") {
        return Duration::try_from_secs_f64(shares.busy as f64 / f64::from(profile.hertz)).ok();
    }
    let nanos = shares::BUSY.iter().filter_map(|state| host.sum(*state));
    let nanos = nanos.fold(0, u64::saturating_add);
    Some(Duration::from_nanos(nanos)).filter(|time| !time.is_zero())
}

fn nanos_per_kib(record: &TestRecord, busy: Option<Duration>) -> Option<f64> {
    let directions = record.outcome.directions.iter();
    let bytes = directions.filter_map(DirectionOutcome::headline).map(|it| it.bytes);
    let bytes = bytes.fold(0, u64::saturating_add);
    busy.filter(|_| bytes > 0).map(|busy| busy.as_nanos() as f64 / (bytes as f64 / 1024.0))
}

/// Shares of a whole, the parts of which are known by name.
type Parts = BTreeMap<Work, f64>;

/// Six digits behind the point.
const TIDY: f64 = 1e6;
/// Of what was asked.
const KEPT: f64 = 0.99;

#[cfg(test)]
mod tests;
