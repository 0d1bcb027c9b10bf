//! `softnet-backlog-overflow`: the backlog of a CPU overflows.

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::evidence::{Flowing, HostView};
use crate::facts::backlog_drops;
use crate::words::{self, count, counted, percent};
#[cfg(test)]
use measurement::host::counter;

const PAGE: Page = Page {
    id: RuleId::SoftnetBacklogOverflow,
    title: "softnet backlog overflow (netdev_max_backlog)",
    what: "Packets were handed to another CPU (RPS), or came from a device without NAPI (veth), \
           and that CPU's queue for them was full.",
    why: "The queue holds `net.core.netdev_max_backlog` packets. No interface and no socket \
          counts what it drops.",
    evidence: "`dropped` of `/proc/net/softnet_stat`, by CPU, against what is missing.",
    remedy: "More CPUs in `rps_cpus`, or fewer packets (GRO, larger datagrams) where one is full; \
             else a longer queue: `sysctl -w net.core.netdev_max_backlog=5000`.",
    source: "Documentation/networking/scaling.rst, net/core/dev.c",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Overrun, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    case.hosts.iter().filter_map(|host| finding(case, host)).collect()
}

fn finding(case: &Case<'_>, host: &HostView<'_>) -> Option<Found> {
    let dropped = backlog_drops::dropped(host)?;
    let blame = case.blame(host, Flowing::In, dropped.packets)?;
    let cpu = dropped.cpu;
    let now = host.setting(BACKLOG);
    let longer = now.unwrap_or(DEFAULT).saturating_mul(MORE);
    let name = words::host(host.role());
    Some(
        Found::new(blame.certainty, format!("softnet backlog overflow on {name}"))
            .at(host.role())
            .explaining(blame.share)
            .seen(format!(
                "{} dropped before the stack, {} of the loss; {} of them on CPU {cpu}",
                counted(dropped.packets, "packet"),
                percent(blame.share),
                count(dropped.most)
            ))
            .remedy(format!("enlarge the backlog, or, where CPU {cpu} is full, give RPS more CPUs"))
            .change_from(super::sysctl(BACKLOG, longer), now),
    )
}

const BACKLOG: &str = "net.core.netdev_max_backlog";
/// Packets (Documentation/admin-guide/sysctl/net.rst).
const DEFAULT: u64 = 1_000;
const MORE: u64 = 5;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::udp)
    .fires(|record| {
        crate::test_record::lose(record, 5_000);
        let host = crate::test_record::host(record, &measurement::Role::Peer);
        crate::test_record::grow(host, counter::SOFTNET_DROPPED.on(1), 5_000);
    })
    .silent(|record| crate::test_record::lose(record, 5_000));
