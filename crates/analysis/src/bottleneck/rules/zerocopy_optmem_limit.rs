//! `zerocopy-optmem-limit`: the kernel has no room to note sends without a copy.

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::accounts::Flow;
use crate::words::{self, count, percent, share};

const PAGE: Page = Page {
    id: RuleId::ZerocopyOptmemLimit,
    title: "MSG_ZEROCOPY refused (optmem_max)",
    what: "At least one in a hundred sends that were not to be copied was refused (`ENOBUFS`), \
           and written instead.",
    why: "The kernel notes each of them, in memory of the socket's options, and locks the pages. \
          Beyond either limit it refuses.",
    evidence: "Sends that were written instead; `net.core.optmem_max`.",
    remedy: "`sysctl -w net.core.optmem_max=1048576`, `ulimit -l unlimited`; buffers on huge pages \
             (`vm.nr_hugepages`) make locking cheaper.",
    source: "Documentation/networking/msg_zerocopy.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Costly, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    case.wanting().filter_map(|flow| finding(case, flow)).collect()
}

fn finding(case: &Case<'_>, flow: &Flow<'_>) -> Option<Found> {
    let sends = flow.outcome.engines.send.as_ref()?.in_place?;
    let written = share(sends.written, sends.sends.saturating_add(sends.written));
    if written < LEAST {
        return None;
    }
    let role = flow.sender();
    let limit = case.host(&role).and_then(|host| host.setting(LIMIT));
    let now = limit;
    let limit = limit.map_or_else(String::new, |limit| format!("; {LIMIT} is {}", count(limit)));
    let host = words::host(&role);
    Some(
        Found::candidate(format!("MSG_ZEROCOPY refused on {host} (optmem_max)"))
            .at(&role)
            .going(flow.outcome.direction)
            .explaining(written / 2.0)
            .seen(format!(
                "{} sends, {}, fell back to write(2){limit}",
                count(sends.written),
                percent(written)
            ))
            .remedy("raise the limit, and that of locked memory (ulimit -l unlimited)")
            .change_from(super::sysctl(LIMIT, ENOUGH), now),
    )
}

const LIMIT: &str = "net.core.optmem_max";
/// In bytes (Documentation/networking/msg_zerocopy.rst names no number). To be calibrated.
const ENOUGH: u64 = 1 << 20;
/// Of the sends. To be calibrated.
const LEAST: f64 = 0.01;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| refuse(record, 300))
    .silent(|record| refuse(record, 3));

#[cfg(test)]
fn refuse(record: &mut measurement::TestRecord, written: u64) {
    use measurement::{EngineUse, InPlace};
    let in_place = InPlace { sends: 1_000, completed: 1_000, copied: 0, written };
    let engine = EngineUse { in_place: Some(in_place), ..(&measurement::engine::ZEROCOPY).into() };
    record.outcome.directions[0].engines.send = Some(engine);
}
