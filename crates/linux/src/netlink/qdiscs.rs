//! All queueing disciplines (qdiscs) of a network namespace, with their counters.

use std::fmt;
use std::io;

use super::kernel::{self, TrafficControlMessage};
use super::message::{attribute, text, u32_at, u64_at};
use super::{QdiscOptions, RouteSocket};

/// A queueing discipline of a network interface, with its counters (tc(8)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qdisc {
    /// Index of the interface to which the queueing discipline belongs.
    pub index: u32,
    /// Handle of the queueing discipline; `0:` if the kernel attached it.
    pub handle: QdiscHandle,
    /// Parent of the queueing discipline: root, ingress or a class.
    pub parent: QdiscParent,
    /// Kind of the queueing discipline, e.g. `fq_codel`.
    pub kind: String,
    /// Configured limits of the queueing discipline.
    pub options: QdiscOptions,
    /// Counters of the queueing discipline; `None` if the kernel does not report them.
    pub statistics: Option<QdiscStatistics>,
}

/// Counters and queue length of a qdisc: `struct gnet_stats_basic` and `struct
/// gnet_stats_queue` of `linux/gen_stats.h`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QdiscStatistics {
    /// Bytes that were dequeued.
    pub bytes: u64,
    /// Packets that were dequeued.
    pub packets: u64,
    /// Packets that were dropped.
    pub drops: u32,
    /// How often the queueing discipline was over its limit, e.g. a packet waited for tokens.
    pub overlimits: u32,
    /// Packets that the device could not take and that were queued again.
    pub requeues: u32,
    /// Bytes in the queue of the queueing discipline.
    pub backlog_bytes: u32,
    /// Packets in the queue of the queueing discipline.
    pub backlog_packets: u32,
}

/// The handle of a qdisc or class, `MAJOR:MINOR` in 16 bits each, displayed as tc(8) does:
/// `8001:` or `1:10`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QdiscHandle(pub u32);

impl fmt::Display for QdiscHandle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = (self.0 >> 16, self.0 & 0xffff);
        match minor {
            0 => write!(formatter, "{major:x}:"),
            _ => write!(formatter, "{major:x}:{minor:x}"),
        }
    }
}

/// The point at which a qdisc is attached: root or ingress of an interface, or a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QdiscParent {
    /// The root of the interface's egress.
    Root,
    /// The ingress of the interface (`ingress`, `clsact`).
    Ingress,
    /// A class of another qdisc.
    Class(QdiscHandle),
}

impl QdiscParent {
    /// The parent by its number in messages (`TC_H_*`).
    pub(super) const fn from_number(number: u32) -> Self {
        match number {
            kernel::TC_H_ROOT => Self::Root,
            kernel::TC_H_INGRESS => Self::Ingress,
            class => Self::Class(QdiscHandle(class)),
        }
    }
}

impl fmt::Display for QdiscParent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => formatter.write_str("root"),
            Self::Ingress => formatter.write_str("ingress"),
            Self::Class(handle) => handle.fmt(formatter),
        }
    }
}

impl RouteSocket {
    /// Lists all qdiscs of the socket's network namespace (`RTM_GETQDISC`).
    ///
    /// # Errors
    /// The errors of sendto(2) and recv(2), such as `ENOBUFS`; none is expected.
    pub fn qdiscs(&mut self) -> io::Result<Vec<Qdisc>> {
        let body = TrafficControlMessage { index: 0, parent: 0 };
        self.dump(libc::RTM_GETQDISC, &body.encode(), entry)
    }
}

fn entry(message: &[u8]) -> Option<Qdisc> {
    let attributes = message.get(TrafficControlMessage::BYTES..)?;
    let kind = text(attribute(attributes, kernel::TCA_KIND)?)?;
    let options = attribute(attributes, kernel::TCA_OPTIONS).unwrap_or_default();
    Some(Qdisc {
        index: u32_at(message, TrafficControlMessage::INDEX)?,
        handle: QdiscHandle(u32_at(message, TrafficControlMessage::HANDLE)?),
        parent: QdiscParent::from_number(u32_at(message, TrafficControlMessage::PARENT)?),
        options: QdiscOptions::read(&kind, options),
        kind,
        statistics: attribute(attributes, kernel::TCA_STATS2).and_then(statistics),
    })
}

fn statistics(nested: &[u8]) -> Option<QdiscStatistics> {
    let basic = attribute(nested, kernel::TCA_STATS_BASIC)?;
    let queue = attribute(nested, kernel::TCA_STATS_QUEUE)?;
    let packets = || attribute(nested, kernel::TCA_STATS_PKT64).and_then(|all| u64_at(all, 0..8));
    Some(QdiscStatistics {
        bytes: u64_at(basic, 0..8)?,
        packets: match packets() {
            // There where 32 bits do not hold them (Linux 5.5).
            Some(packets) => packets,
            None => u64::from(u32_at(basic, 8..12)?),
        },
        backlog_packets: u32_at(queue, 0..4)?,
        backlog_bytes: u32_at(queue, 4..8)?,
        drops: u32_at(queue, 8..12)?,
        requeues: u32_at(queue, 12..16)?,
        overlimits: u32_at(queue, 16..20)?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::message::{HEADER_BYTES, Message};
    use super::*;

    fn described(statistics: impl FnOnce(Message) -> Message) -> Vec<u8> {
        let body = TrafficControlMessage { index: 4, parent: kernel::TC_H_ROOT };
        let message = Message::new(libc::RTM_NEWQDISC, 0, &body.encode())
            .attribute(kernel::TCA_KIND, b"tbf\0")
            .nested(kernel::TCA_STATS2, statistics)
            .finish(1);
        message[HEADER_BYTES..].to_vec()
    }

    #[test]
    fn a_discipline_is_read_with_what_it_counted() {
        let numbers = |numbers: &[u32]| -> Vec<u8> {
            numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
        };
        let mut basic = 1_000_000_u64.to_ne_bytes().to_vec();
        basic.extend(numbers(&[900, 0]));
        let message = described(|nested| {
            nested
                .attribute(kernel::TCA_STATS_BASIC, &basic)
                .attribute(kernel::TCA_STATS_QUEUE, &numbers(&[1, 2, 3, 4, 5]))
        });
        let discipline = entry(&message).expect("a discipline");
        assert_eq!((discipline.index, discipline.parent), (4, QdiscParent::Root));
        let expected = QdiscStatistics {
            bytes: 1_000_000,
            packets: 900,
            drops: 3,
            overlimits: 5,
            requeues: 4,
            backlog_bytes: 2,
            backlog_packets: 1,
        };
        assert_eq!(discipline.statistics, Some(expected));
    }

    #[test]
    fn statistics_that_end_early_are_none() {
        let message = described(|nested| nested.attribute(kernel::TCA_STATS_BASIC, &[0; 7]));
        assert_eq!(entry(&message).expect("a discipline").statistics, None);
        for length in 0..message.len() {
            let _ = entry(&message[..length]);
        }
    }

    #[test]
    fn handles_read_as_tc_writes_them() {
        assert_eq!(QdiscHandle(0x8001_0000).to_string(), "8001:");
        assert_eq!(QdiscParent::Class(QdiscHandle(0x0001_0010)).to_string(), "1:10");
        assert_eq!(QdiscHandle(0).to_string(), "0:");
    }

    #[test]
    fn the_disciplines_of_this_namespace_are_told() {
        let mut route = RouteSocket::open().expect("netlink is there");
        let indices: Vec<u32> =
            route.links().expect("asked").iter().map(|link| link.index).collect();
        let disciplines = route.qdiscs().expect("asked");
        assert!(disciplines.iter().all(|one| indices.contains(&one.index)), "{disciplines:?}");
    }
}
