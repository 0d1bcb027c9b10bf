//! Hosts as data of the page: CPU time by kind of work, call chains, and what a host has.

use measurement::{Attribution, HostEvidence, Order, Profile, TestRecord, Work};
use serde::Serialize;

use super::text_table::TextTable;
use super::verdict::host;
use crate::host::{heading, tables as inventory_tables};
use crate::verdict;

/// Where the CPUs of a host spent their time.
#[derive(Debug, Serialize)]
pub(super) struct CpuTime {
    title: String,
    host: String,
    cpus: Vec<OneCpu>,
    work: Vec<WorkShare>,
    what_if: Vec<String>,
}

#[derive(Debug, Serialize)]
struct OneCpu {
    cpu: u32,
    busy: f64,
    work: Vec<(Work, f64)>,
}

#[derive(Debug, Serialize)]
struct WorkShare {
    kind: Work,
    name: String,
    share: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    nanos_per_kib: Option<f64>,
}

/// Call chains of a host: frames, and how often each chain was sampled.
#[derive(Debug, Serialize)]
pub(super) struct Flame {
    host: String,
    samples: u64,
    stacks: Vec<(String, u64)>,
}

/// Hardware and kernel of a host.
#[derive(Debug, Serialize)]
pub(super) struct HostTables {
    title: String,
    tables: Vec<TextTable>,
    gaps: Vec<String>,
}

/// That of each host that reported a profile.
pub(super) fn cpu_times(record: &TestRecord) -> Vec<CpuTime> {
    let judgement = record.judgement.iter();
    judgement.flat_map(|judgement| &judgement.attributions).map(cpu_time).collect()
}

fn cpu_time(attribution: &Attribution) -> CpuTime {
    let mut work: Vec<_> =
        attribution.work.iter().filter(|(kind, _)| **kind != Work::Idle).collect();
    work.order_by(|(_, one), (_, other)| other.share.total_cmp(&one.share));
    let kind = |(kind, cost): (&Work, &measurement::verdict::Cost)| WorkShare {
        kind: *kind,
        name: kind.to_string(),
        share: cost.share,
        nanos_per_kib: cost.nanos_per_kib,
    };
    let cpus = attribution.cpus.iter().map(|one| OneCpu {
        cpu: one.cpu,
        busy: one.busy,
        work: one.work.iter().map(|(kind, share)| (*kind, *share)).collect(),
    });
    CpuTime {
        title: verdict::heading(attribution),
        host: host(&attribution.host),
        cpus: cpus.collect(),
        work: work.into_iter().map(kind).collect(),
        what_if: attribution.what_if.iter().map(verdict::what_if).collect(),
    }
}

/// Those of each host with call chains.
pub(super) fn flames(record: &TestRecord) -> Vec<Flame> {
    let known = record.hosts.iter().filter_map(|one| Some((one, one.profile.as_ref()?)));
    let known = known.filter(|(_, profile)| !profile.stacks.is_empty());
    let flame = |(one, profile): (&HostEvidence, &Profile)| Flame {
        host: host(&one.role),
        samples: profile.samples,
        stacks: profile.stacks.iter().map(|one| (one.frames.clone(), one.count)).collect(),
    };
    known.map(flame).collect()
}

/// Those of each host of the test.
pub(super) fn tables(record: &TestRecord) -> Vec<HostTables> {
    let tables = |one: &HostEvidence| HostTables {
        title: format!("{}: {}", host(&one.role), heading(&one.inventory)),
        tables: inventory_tables(&one.inventory)
            .iter()
            .filter_map(|(name, columns)| TextTable::of(name, columns))
            .collect(),
        gaps: one.gaps.iter().map(|gap| format!("{}: {}", gap.what, gap.why)).collect(),
    };
    record.hosts.iter().map(tables).collect()
}
