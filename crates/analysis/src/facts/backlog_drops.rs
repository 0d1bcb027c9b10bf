//! Packets dropped since the backlog of a CPU was full (`/proc/net/softnet_stat`).

use measurement::host::{Counter, counter};

use crate::evidence::HostView;

/// What the backlogs of a host dropped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dropped<'a> {
    /// Over all CPUs.
    pub(crate) packets: u64,
    /// The CPU that dropped most.
    pub(crate) cpu: &'a str,
    /// How many it dropped.
    pub(crate) most: u64,
}

/// What the backlogs dropped; none: nothing, or it is not known.
pub(crate) fn dropped<'a>(host: &HostView<'a>) -> Option<Dropped<'a>> {
    let each = host.each(counter::SOFTNET_DROPPED);
    let packets = each.iter().map(|(_, packets)| *packets).fold(0, u64::saturating_add);
    let (cpu, most) = each.into_iter().max_by_key(|(_, packets)| *packets)?;
    Some(Dropped { packets, cpu, most })
}

/// The counters of all CPUs.
pub(crate) fn counters<'a>(host: &HostView<'a>) -> Vec<Counter<'a>> {
    host.evidence.series.each(counter::SOFTNET_DROPPED).map(|(_, dropped)| dropped).collect()
}
