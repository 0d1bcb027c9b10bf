//! `misaligned-access`: misaligned accesses are slow, or executed by a trap handler.

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::load;
use crate::evidence::HostView;
use crate::words::{self, percent};
use measurement::Work;

const PAGE: Page = Page {
    id: RuleId::MisalignedAccess,
    title: "Slow misaligned memory accesses",
    what: "The CPU says that misaligned accesses are slow or emulated.",
    why: "Headers and payload behind an Ethernet header of 14 bytes are often misaligned. An \
          emulated access traps, for hundreds of cycles, into a handler that profilers do not see.",
    evidence: "riscv_hwprobe(2); samples of the trap handler.",
    remedy: "A kernel of 5.14 or later, whose copies shift what is misaligned; a driver that \
             begins frames at an offset of 2 (`NET_IP_ALIGN`).",
    source: "Documentation/arch/riscv/hwprobe.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Costly, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    case.hosts.iter().filter_map(|host| finding(case, host)).collect()
}

fn finding(case: &Case<'_>, host: &HostView<'_>) -> Option<Found> {
    let reported = host.evidence.inventory.cpus.iter().filter_map(|cpu| cpu.misaligned.as_deref());
    let misaligned = reported.into_iter().find(|how| matches!(*how, "slow" | "emulated"))?;
    let full = load::full(case).into_iter().find(|full| full.role == *host.role());
    let text = format!("misaligned accesses are {misaligned} on {}", words::host(host.role()));
    let share = full
        .as_ref()
        .map_or(0.0, |full| full.share(|work| work.is_copy() || work == Work::TrapEmulation));
    let found = if full.is_some() { Found::candidate(text) } else { Found::note(text) };
    let found = found
        .at(host.role())
        .explaining(share / 2.0)
        .seen(format!("riscv_hwprobe(2) says: {misaligned}"))
        .remedy("use a kernel of 5.14 or later, and a driver that aligns frames (NET_IP_ALIGN)");
    Some(match full {
        Some(full) => found
            .seen(full.in_words())
            .seen(format!("copies and traps took {} of that", percent(share))),
        None => found,
    })
}

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| board(record, "emulated"))
    .silent(|record| board(record, "fast"));

#[cfg(test)]
fn board(record: &mut measurement::TestRecord, misaligned: &str) {
    let host = crate::test_record::host(record, &measurement::Role::Peer);
    crate::test_record::fill(host, 0.99);
    let misaligned = Some(misaligned.to_owned());
    host.inventory.cpus = vec![measurement::host::Cpu { misaligned, ..Default::default() }];
}
