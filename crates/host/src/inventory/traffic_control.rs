//! Queries the running kernel for queueing disciplines, their classes and policers (tc(8)).

use std::io;

use linux::netlink::{Qdisc, QdiscHandle, QdiscParent, RouteSocket, TrafficClass};
use measurement::host::{Interface, Policer, Queueing, QueueingClass};
use measurement::{BitRate, Order};

use super::answers::KernelAnswers;

/// Adds to each interface its queueing disciplines, the root first, their classes and the policers
/// at its ingress. Classes and policers that cannot be read become gaps.
///
/// # Errors
/// An error of the request for queueing disciplines.
pub(super) fn query(route: &mut RouteSocket, answers: &mut KernelAnswers) -> io::Result<()> {
    let qdiscs = route.qdiscs()?;
    for one in &mut answers.interfaces {
        let interface = &mut one.interface;
        let own = qdiscs.iter().filter(|qdisc| qdisc.index == interface.index);
        let mut own: Vec<_> = own.collect();
        own.order_by_key(|qdisc| qdisc.parent != QdiscParent::Root);
        interface.queueing = own.iter().copied().map(queueing).collect();
        let read = read_classes(route, interface, &own)
            .and_then(|()| read_policers(route, interface, &own));
        if let Err(error) = read {
            let what = format!("classes and policers of {}", interface.name);
            answers.gaps.push(super::gap(what, &error));
        }
    }
    Ok(())
}

/// Only the classes of these kinds have rates.
fn read_classes(
    route: &mut RouteSocket,
    interface: &mut Interface,
    qdiscs: &[&Qdisc],
) -> io::Result<()> {
    if qdiscs.iter().any(|qdisc| matches!(qdisc.kind.as_str(), "htb" | "hfsc")) {
        let all = route.classes(interface.index)?.into_iter();
        let shaping = all.filter(|class| matches!(class.kind.as_str(), "htb" | "hfsc"));
        interface.classes = shaping.map(|one| class(&one)).take(MOST).collect();
    }
    Ok(())
}

fn read_policers(
    route: &mut RouteSocket,
    interface: &mut Interface,
    qdiscs: &[&Qdisc],
) -> io::Result<()> {
    if qdiscs.iter().any(|qdisc| qdisc.parent == QdiscParent::Ingress) {
        let all = route.ingress_policers(interface.index)?.into_iter();
        let policers = all.map(|one| Policer { filter: one.filter, rate: rate(one.rate) });
        interface.policers = policers.take(MOST).collect();
    }
    Ok(())
}

fn queueing(qdisc: &Qdisc) -> Queueing {
    let options = qdisc.options;
    let class = |minor: u32| QdiscHandle(qdisc.handle.0 & MAJOR | minor & !MAJOR).to_string();
    let micros = |delay: std::time::Duration| u64::try_from(delay.as_micros()).unwrap_or(u64::MAX);
    Queueing {
        handle: qdisc.handle.to_string(),
        parent: qdisc.parent.to_string(),
        kind: qdisc.kind.clone(),
        rate: options.rate.map(rate),
        flow_rate: options.flow_rate.map(rate),
        burst_bytes: options.burst_bytes,
        limit_bytes: options.limit_bytes.map(u64::from),
        limit_packets: options.limit_packets.map(u64::from),
        delay_micros: options.delay.map(micros),
        loss_millionths: options.loss_millionths,
        default_class: options.default_class.map(class),
    }
}

fn class(class: &TrafficClass) -> QueueingClass {
    QueueingClass {
        handle: class.handle.to_string(),
        parent: class.parent.to_string(),
        ceiling: class.ceiling.map(rate),
    }
}

fn rate(bytes_per_second: u64) -> BitRate {
    BitRate::from_bits_per_second(bytes_per_second.saturating_mul(8))
}

/// `TC_H_MAJ_MASK`, `linux/pkt_sched.h`
const MAJOR: u32 = 0xffff_0000;
/// A shaper of an access network has a class for each subscriber.
const MOST: usize = 64;
