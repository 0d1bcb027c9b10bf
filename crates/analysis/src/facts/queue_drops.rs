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
    /// Share of the readings in which something stood in it. `None`: too few were taken.
    queued: Option<f64>,
}

impl Discipline<'_> {
    /// Whether it stands where packets come in, and drops what a filter tells it to.
    pub(crate) fn is_policer(&self) -> bool {
        POLICERS.contains(&self.kind)
    }

    /// Whether its queue was seen to be empty most of the time: what comes is less than its rate.
    pub(crate) fn is_idle(&self) -> bool {
        self.queued.is_some_and(|share| share < HALF)
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
        queued: queued(
            host.gauge(counter::QDISC_BACKLOG_BYTES.within(interface).on(name)),
            host.readings(),
        ),
    })
}

/// Share of so many readings, without the first and the last, in which something stood in a queue.
fn queued(backlog: &[i64], readings: usize) -> Option<f64> {
    let within = match backlog {
        _ if readings < FEW + 2 => return None,
        // The same in all readings.
        [_] => backlog,
        [_, within @ .., _] => within,
        [] => return None,
    };
    let full = within.iter().filter(|bytes| **bytes > 0).count();
    Some(full as f64 / within.len() as f64)
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

/// Share of the readings.
const HALF: f64 = 0.5;
/// Least readings that tell of a queue.
const FEW: usize = 3;
/// What stands where packets come in (tc(8)).
const POLICERS: [&str; 2] = ["ingress", "clsact"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_read_between_the_first_and_the_last_reading() {
        assert_eq!(queued(&[0, 9, 9, 0, 9, 0], 6), Some(0.75));
        assert_eq!(queued(&[9, 0, 0, 0, 9], 5), Some(0.0));
        assert_eq!(queued(&[0], 5), Some(0.0), "it never changed");
        assert_eq!(queued(&[0], 2), None, "it was read at both ends alone");
        assert_eq!(queued(&[0, 9, 0, 0], 4), None, "two readings between them");
        assert_eq!(queued(&[], 9), None, "not read");
    }
}
