//! What the queueing disciplines of an interface did (`tc -s qdisc`).

use measurement::host::{Counter, EachCounter, counter};

use measurement::Order;

use crate::evidence::HostView;

/// One discipline, and by how much its counters grew.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Discipline<'a> {
    /// Its name in counters: `fq_codel@8001:`.
    pub(crate) name: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) handle: &'a str,
    pub(crate) drops: u64,
    pub(crate) overlimits: u64,
    pub(crate) packets: u64,
}

impl Discipline<'_> {
    /// Whether it stands where packets come in, and drops what a filter tells it to.
    pub(crate) fn is_policer(&self) -> bool {
        POLICERS.contains(&self.kind)
    }
}

/// The disciplines of an interface that dropped, or were over their limit.
pub(crate) fn disciplines<'a>(host: &HostView<'a>, interface: &'a str) -> Vec<Discipline<'a>> {
    let series = &host.evidence.series;
    let mut names: Vec<&str> = [counter::QDISC_DROPS, counter::QDISC_OVERLIMITS]
        .into_iter()
        .flat_map(|each| series.each(each.within(interface)))
        .map(|(name, _)| name)
        .collect();
    names.order();
    names.dedup();
    names.into_iter().filter_map(|name| read(host, interface, name)).collect()
}

fn read<'a>(host: &HostView<'_>, interface: &str, name: &'a str) -> Option<Discipline<'a>> {
    let (kind, handle) = name.split_once('@')?;
    let grown = |each: EachCounter<'_>| {
        let counter: Counter<'_> = each.within(interface).on(name);
        host.growth(counter).unwrap_or(0)
    };
    let (drops, overlimits) = (grown(counter::QDISC_DROPS), grown(counter::QDISC_OVERLIMITS));
    Some(Discipline {
        name,
        kind,
        handle,
        drops,
        overlimits,
        packets: grown(counter::QDISC_PACKETS),
    })
}

/// The discipline for sending that dropped most. A root counts what its children drop as well
/// (`qdisc_tree_reduce_backlog`, `net/sched/sch_api.c`), so that the largest number is that of
/// all.
pub(crate) fn sending<'a>(host: &HostView<'a>, interface: &'a str) -> Option<Discipline<'a>> {
    let all = disciplines(host, interface).into_iter();
    all.filter(|one| !one.is_policer()).max_by_key(|one| (one.drops, one.name))
}

/// Packets that queues for sending dropped, over the interfaces that carried the test; of a
/// host that does not report which, over all.
pub(crate) fn of_all(host: &HostView<'_>) -> u64 {
    let sending = host.carriers().into_iter().filter_map(|name| sending(host, name));
    sending.map(|one| one.drops).fold(0, u64::saturating_add)
}

/// What stands where packets come in (tc(8)).
const POLICERS: [&str; 2] = ["ingress", "clsact"];
