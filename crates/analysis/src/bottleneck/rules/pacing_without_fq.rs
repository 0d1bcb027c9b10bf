//! `pacing-without-fq`: nothing keeps the rate that the kernel was told.

use measurement::pacing::PacingWay;
use measurement::remedy::Setting;

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::case::Device;

const PAGE: Page = Page {
    id: RuleId::PacingWithoutFq,
    title: "Pacing without fq",
    what: "The kernel was to space datagrams (`SO_MAX_PACING_RATE`), and the interface that sends \
           them has no `fq`.",
    why: "TCP spaces its own segments without it. For datagrams only `fq` looks at the rate of a \
          socket; any other discipline sends them as they come.",
    evidence: "Who was to space the datagrams; the disciplines of the interface.",
    remedy: "`tc qdisc replace dev IF root fq` (below `mq`, to each of its queues), or let the \
             program space them: `--pacing even`.",
    source: "tc-fq(8), socket(7)",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Queue, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    if !case.is_udp() {
        return Vec::new();
    }
    case.carriers().filter_map(|device| finding(case, &device)).collect()
}

fn finding(case: &Case<'_>, device: &Device<'_, '_>) -> Option<Found> {
    let reported = case.flows().iter().find(|flow| {
        flow.sender() == *device.host.role()
            && flow.outcome.pacing.as_ref().is_some_and(|pacing| pacing.way == PacingWay::Kernel)
    })?;
    let kinds: Vec<_> =
        device.interface.queueing.iter().map(|queueing| queueing.kind.as_str()).collect();
    if kinds.is_empty() || kinds.contains(&"fq") {
        return None;
    }
    let (name, interface) = (device.name(), &device.interface.name);
    Some(
        Found::candidate(format!(
            "pacing without fq on {name}: nothing enforces \
        SO_MAX_PACING_RATE"
        ))
        .at(device.host.role())
        .going(reported.outcome.direction)
        .seen(format!("SO_MAX_PACING_RATE is set; {name} has {}", kinds.join(", ")))
        .remedy("use fq, or let the program pace (--pacing even)")
        .change_from(
            Setting::RootQdisc { interface: interface.clone(), kind: "fq".to_owned() },
            kinds.first(),
        ),
    )
}

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::udp)
    .fires(|record| queue(record, "pfifo_fast"))
    .silent(|record| queue(record, "fq"));

#[cfg(test)]
fn queue(record: &mut measurement::TestRecord, kind: &str) {
    use measurement::host::Queueing;
    use measurement::pacing::PacingReport;
    crate::test_record::lose(record, 5_000);
    let outcome = &mut record.outcome.directions[0];
    outcome.pacing = Some(PacingReport { way: PacingWay::Kernel, ..crate::test_record::pacing() });
    let interface = crate::test_record::interface_of(record, &measurement::Role::Here);
    interface.queueing = vec![Queueing { kind: kind.to_owned(), ..Queueing::default() }];
}
