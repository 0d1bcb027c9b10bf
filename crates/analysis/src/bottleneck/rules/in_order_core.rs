//! `in-order-core`: a core that executes in order copies as fast as it can.

use super::{Case, Found, Page, Rule, RuleId};
use crate::bottleneck::load::{self, Full};
use crate::words::{self, percent};
use measurement::Work;
use measurement::host::Pipeline;

const PAGE: Page = Page {
    id: RuleId::InOrderCore,
    title: "In-order core at its ceiling",
    what: "A full CPU that executes in program order copied for at least a quarter of its time.",
    why: "Such a core waits for each load that is not in its cache. What it copies in a second is \
          bounded by the memory's latency, and no setting changes that.",
    evidence: "The design of the core (`uarch`, `Cortex-A53`, `sifive,u54` …); samples of copies.",
    remedy: "Fewer bytes copied (TCP: `--fastest`, `--engine msg-trunc`), a larger MTU, more cores \
             (`-P`, RPS); else name the ceiling.",
    source: "",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(case: &Case<'_>) -> Vec<Found> {
    load::full(case).iter().filter_map(|full| finding(case, full)).collect()
}

fn finding(case: &Case<'_>, full: &Full<'_>) -> Option<Found> {
    let cpus = &case.host(&full.role)?.evidence.inventory.cpus;
    let is_its = |number: u32| full.cpu.is_none_or(|cpu| cpu == number);
    let cpu = cpus.iter().find(|cpu| is_its(cpu.number))?;
    let copies = full.share(Work::is_copy);
    (cpu.pipeline == Some(Pipeline::InOrder) && copies >= LEAST).then(|| {
        let model = cpu.model.as_deref().unwrap_or("core");
        let host = words::host(&full.role);
        Found::candidate(format!("{host}'s in-order core ({model}) copies as fast as it can"))
            .at(&full.role)
            .explaining(copies / 2.0)
            .seen(format!("copies took {} of a full CPU", percent(copies)))
            .remedy(if case.is_udp() { DATAGRAMS } else { SEGMENTS })
    })
}

const SEGMENTS: &str = "copy less (--fastest, --engine msg-trunc), or use more cores (-P)";
const DATAGRAMS: &str = "use larger datagrams (-l), or more cores (-P)";
/// Share of the busy time. To be calibrated.
const LEAST: f64 = 0.25;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| board(record, Pipeline::InOrder))
    .silent(|record| board(record, Pipeline::OutOfOrder));

#[cfg(test)]
fn board(record: &mut measurement::TestRecord, pipeline: Pipeline) {
    crate::test_record::full_of(record, Work::CopyUser, 60);
    let host = crate::test_record::host(record, &measurement::Role::Peer);
    let pipeline = Some(pipeline);
    host.inventory.cpus = vec![measurement::host::Cpu { pipeline, ..Default::default() }];
}
