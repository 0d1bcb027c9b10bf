//! `tcp-memory-pressure`: the memory that all TCP sockets share ran out.

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::evidence::HostView;
use crate::words::{self, counted};
use measurement::host::counter;

const PAGE: Page = Page {
    id: RuleId::TcpMemoryPressure,
    title: "TCP memory pressure (tcp_mem)",
    what: "The kernel came under pressure of TCP memory during the result.",
    why: "Then all sockets have to make do with less, and windows shrink, whatever their buffers \
          may have.",
    evidence: "`TCPMemoryPressures` of the host.",
    remedy: "Raise `net.ipv4.tcp_mem` (in pages), or use less of it (`-w`, fewer streams).",
    source: "tcp(7)",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Window, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    let is_wanting = case.is_tcp() && case.wanting().next().is_some();
    if is_wanting { case.hosts.iter().filter_map(finding).collect() } else { Vec::new() }
}

fn finding(host: &HostView<'_>) -> Option<Found> {
    let times = host.growth(counter::TCP_MEMORY_PRESSURES).filter(|times| *times > 0)?;
    let text = format!("TCP memory pressure on {} (tcp_mem)", words::host(host.role()));
    let seen = format!("{} under pressure (TCPMemoryPressures)", counted(times, "time"));
    let found = Found::candidate(text).at(host.role()).explaining(PART).seen(seen);
    Some(
        found.remedy(
            "raise all three numbers of net.ipv4.tcp_mem there, or use less of it (-w, -P)",
        ),
    )
}

/// Assumed part of the shortfall: no counter measures it.
const PART: f64 = 0.5;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| {
        let host = crate::test_record::host(record, &measurement::Role::Peer);
        crate::test_record::grow(host, counter::TCP_MEMORY_PRESSURES, 20);
    })
    .silent(|_| ());
