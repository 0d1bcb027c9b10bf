//! `rps-flow-limit`: the limit of flows dropped a large flow.

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::evidence::{Flowing, HostView};
use crate::words::{self, counted, percent};
use measurement::host::counter;

const PAGE: Page = Page {
    id: RuleId::RpsFlowLimit,
    title: "RPS flow limit",
    what: "A CPU's backlog was more than half full and flow limit dropped packets of the flow \
           that had most of it.",
    why: "It protects small flows from a flood. A test of one stream is that flood.",
    evidence: "`flow_limit_count` of `/proc/net/softnet_stat` against what is missing.",
    remedy: "For measurements `sysctl -w net.core.flow_limit_cpu_bitmap=0`; or a longer backlog.",
    source: "Documentation/networking/scaling.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Overrun, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    case.hosts.iter().filter_map(|host| finding(case, host)).collect()
}

fn finding(case: &Case<'_>, host: &HostView<'_>) -> Option<Found> {
    let dropped = host.sum(counter::SOFTNET_FLOW_LIMIT_COUNT)?;
    let blame = case.blame(host, Flowing::In, dropped)?;
    let name = words::host(host.role());
    let text = format!("the RPS flow limit drops packets on {name}");
    Some(
        Found::new(blame.certainty, text)
            .at(host.role())
            .explaining(blame.share)
            .seen(format!(
                "flow limit dropped {}, {} of the loss",
                counted(dropped, "packet"),
                percent(blame.share)
            ))
            .remedy("switch the flow limit off for the time of the test")
            .change(super::sysctl("net.core.flow_limit_cpu_bitmap", 0)),
    )
}

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::udp)
    .fires(|record| {
        crate::test_record::lose(record, 5_000);
        let host = crate::test_record::host(record, &measurement::Role::Peer);
        crate::test_record::grow(host, counter::SOFTNET_FLOW_LIMIT_COUNT.on(0), 5_000);
    })
    .silent(|record| crate::test_record::lose(record, 5_000));
