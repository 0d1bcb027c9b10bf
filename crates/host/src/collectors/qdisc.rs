//! `qdisc.IF.KIND@HANDLE.{bytes,packets,drops,overlimits,requeues}`: what each queueing
//! discipline did, e.g. `qdisc.eth0.fq_codel@8001:.drops`, and the gauge
//! `qdisc.IF.KIND@HANDLE.backlog_bytes`, as `tc -s qdisc` shows them.
//!
//! Those that the kernel attached to the queues of a device all have the handle `0:`; they
//! are one here, with their sum. What stands above others, as `mq` does, counts what they
//! count once more. Only netlink reports them, for the namespace of the thread that reads first.

use std::collections::{BTreeMap, HashMap};

use linux::netlink::{Qdisc, QdiscHandle, QdiscStatistics, RouteSocket};
use measurement::Gap;
use measurement::host::{EachCounter, Family, counter};

use super::{Collector, ReadOutcome};
use crate::source::gap;
use crate::{Reading, Tree};

#[derive(Default)]
pub(super) struct Disciplines {
    route: Option<RouteSocket>,
    /// Names of interfaces by their indices.
    interfaces: HashMap<u32, String>,
}

impl Collector for Disciplines {
    fn family(&self) -> Family {
        Family::QDISC
    }

    fn read(&mut self, tree: &Tree, into: &mut Reading) -> Result<ReadOutcome, Gap> {
        if !tree.is_live() {
            let why = "no file has their counters".to_owned();
            return Err(Gap { what: WHAT.to_owned(), why });
        }
        let found = self.ask().map_err(|error| gap(WHAT, &error, "there is no netlink"))?;
        for ((interface, kind, handle), sum) in sums(&found, &self.interfaces) {
            record(interface, format_args!("{kind}@{handle}"), &sum, into);
        }
        Ok(ReadOutcome::Complete)
    }
}

impl Disciplines {
    fn ask(&mut self) -> std::io::Result<Vec<Qdisc>> {
        let route = match &mut self.route {
            Some(route) => route,
            none => none.insert(RouteSocket::open()?),
        };
        let found = route.qdiscs()?;
        if found.iter().any(|one| !self.interfaces.contains_key(&one.index)) {
            let links = route.links()?;
            self.interfaces = links.into_iter().map(|link| (link.index, link.name)).collect();
        }
        Ok(found)
    }
}

type Name<'a> = (&'a str, &'a str, QdiscHandle);

fn sums<'a>(found: &'a [Qdisc], interfaces: &'a HashMap<u32, String>) -> BTreeMap<Name<'a>, Sum> {
    let mut sums = BTreeMap::<Name, Sum>::new();
    for one in found {
        let (Some(interface), Some(statistics)) = (interfaces.get(&one.index), one.statistics)
        else {
            continue;
        };
        let name = (interface.as_str(), one.kind.as_str(), one.handle);
        sums.entry(name).or_default().add(&statistics);
    }
    sums
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Sum {
    counters: [u64; COUNTERS.len()],
    backlog_bytes: i64,
}

impl Sum {
    fn add(&mut self, more: &QdiscStatistics) {
        let wide = u64::from;
        let more_counters = [
            more.bytes,
            more.packets,
            wide(more.drops),
            wide(more.overlimits),
            wide(more.requeues),
        ];
        for (sum, more) in self.counters.iter_mut().zip(more_counters) {
            *sum = sum.saturating_add(more);
        }
        self.backlog_bytes = self.backlog_bytes.saturating_add(more.backlog_bytes.into());
    }
}

fn record(interface: &str, queue: std::fmt::Arguments<'_>, sum: &Sum, into: &mut Reading) {
    for (each, count) in COUNTERS.iter().zip(sum.counters) {
        into.counter(each.within(interface).on(queue), count);
    }
    into.gauge(counter::QDISC_BACKLOG_BYTES.within(interface).on(queue), sum.backlog_bytes);
}

const COUNTERS: [EachCounter<'static>; 5] = [
    counter::QDISC_BYTES,
    counter::QDISC_PACKETS,
    counter::QDISC_DROPS,
    counter::QDISC_OVERLIMITS,
    counter::QDISC_REQUEUES,
];
const WHAT: &str = "counters of queueing disciplines";

#[cfg(test)]
mod tests {
    use linux::netlink::QdiscParent;

    use super::*;
    use crate::collectors::tests::counted;

    #[test]
    fn those_of_the_queues_of_a_device_are_one() {
        let statistics = QdiscStatistics { drops: 3, ..QdiscStatistics::default() };
        let discipline = |kind: &str, handle, parent| Qdisc {
            options: linux::netlink::QdiscOptions::default(),
            index: 2,
            handle: QdiscHandle(handle),
            parent,
            kind: kind.to_owned(),
            statistics: Some(statistics),
        };
        let found = [
            discipline("mq", 0x8001_0000, QdiscParent::Root),
            discipline("fq_codel", 0, QdiscParent::Class(QdiscHandle(0x8001_0001))),
            discipline("fq_codel", 0, QdiscParent::Class(QdiscHandle(0x8001_0002))),
        ];
        let interfaces = HashMap::from([(2, "eth0".to_owned())]);
        let counted = counted(|into| {
            for ((interface, kind, handle), sum) in sums(&found, &interfaces) {
                record(interface, format_args!("{kind}@{handle}"), &sum, into);
            }
        });
        assert_eq!(counted["qdisc.eth0.mq@8001:.drops"], 3);
        assert_eq!(counted["qdisc.eth0.fq_codel@0:.drops"], 6);
        assert_eq!(counted.len(), 10);
    }
}
