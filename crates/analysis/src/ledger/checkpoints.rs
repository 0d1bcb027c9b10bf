//! Datagrams that passed a point of the way, counted one by one.
//!
//! A count of packets does not tell datagrams where one packet may hold many (GSO, GRO; udp(7)).
//! The IP layer counts the segments in what it receives, by their ECN (`ip_rcv_core`,
//! `net/ipv4/ip_input.c`), and an interface counts bytes: each datagram has the length of the test,
//! and each packet one header. What was lost on either side of such a point bounds what each place
//! there can have dropped.

use measurement::Role;
use measurement::host::counter::{self, Both};
use measurement::host::{EachCounter, Family};
use measurement::judgement::Place;

use super::DirectionEvidence;
use super::allotment::{Candidate, keep_within};
use super::known::Known;
use crate::evidence::HostView;

/// Narrows the bounds of candidates by what is known of the part of the way that they are in.
pub(super) fn narrow(ends: &DirectionEvidence<'_>, lost: u64, candidates: &mut [Candidate]) {
    if let Some(known) = before_the_wire(ends) {
        keep_within(known, lost, candidates, |place| place <= Place::SenderInterface);
    }
    if let Some(known) = behind_ip(ends) {
        keep_within(known, lost, candidates, |place| place >= Place::ReceiverStack);
    }
    if let Some(known) = not_forwarded(ends) {
        keep_within(known, lost, candidates, |place| place == Place::ObservedForward);
    }
    // Frames that a device missed, or that nobody wanted, may be on either side of its count.
    let is_at_the_device = |one: &Candidate| one.place == Place::ReceiverInterface && one.most > 0;
    if let Some(known) = before_ip(ends).filter(|_| !candidates.iter().any(is_at_the_device)) {
        keep_within(known, lost, candidates, |place| {
            matches!(place, Place::ReceiverBacklog | Place::ReceiverIngress)
        });
    }
}

/// What came into the IP layer of the only observed host and did not leave it.
fn not_forwarded(ends: &DirectionEvidence<'_>) -> Option<Known> {
    let mut observed = ends.hosts.iter().filter(|host| matches!(host.role(), Role::Observed(_)));
    let (host, None) = (observed.next()?, observed.next()) else { return None };
    let came = in_ip(ends, host)?;
    let bytes = grown(ends, host, counter::IP_OUT_OCTETS);
    let packets = grown(ends, host, counter::IP_OUT_TRANSMITS);
    Some(came.without(in_bytes(ends, (bytes, packets), 0)?))
}

/// What was sent and did not leave the sender's interface.
fn before_the_wire(ends: &DirectionEvidence<'_>) -> Option<Known> {
    let counters = (counter::INTERFACE_TX_BYTES, counter::INTERFACE_TX_PACKETS);
    Some(on_the_wire(ends, ends.sender?, counters)?.of(ends.outcome.datagrams?.sent))
}

/// What the receiver's interface got and its IP layer did not.
fn before_ip(ends: &DirectionEvidence<'_>) -> Option<Known> {
    let counters = (counter::INTERFACE_RX_BYTES, counter::INTERFACE_RX_PACKETS);
    let came = on_the_wire(ends, ends.receiver?, counters)?;
    Some(came.without(in_ip(ends, ends.receiver?)?))
}

/// What the receiver's IP layer got and its sockets did not hand over.
fn behind_ip(ends: &DirectionEvidence<'_>) -> Option<Known> {
    let counted = ends.outcome.datagrams?;
    let taken = [Some(counted.received), counted.duplicate, counted.late].into_iter().flatten();
    let taken = taken.fold(0, u64::saturating_add);
    Some(in_ip(ends, ends.receiver?)?.without(Known { least: taken, most: taken }))
}

/// Datagrams that came into the IP layer of a host; none: not told.
fn in_ip(ends: &DirectionEvidence<'_>, host: &HostView<'_>) -> Option<Known> {
    let family = if is_version_6(ends) { Family::SNMP6 } else { Family::NETSTAT };
    let most = SEGMENTS.iter().map(|both| grown(ends, host, *both)).fold(0, u64::saturating_add);
    let is_told = most > 0 && host.reports(family) && is_countable(ends, host);
    let control = grown_of_tcp(host).saturating_add(CONTROL / SEGMENT);
    is_told.then(|| Known { least: most.saturating_sub(control), most })
}

/// Datagrams in the bytes that the only interface of a host counted; none: not told.
fn on_the_wire(
    ends: &DirectionEvidence<'_>,
    host: &HostView<'_>,
    (bytes, packets): (EachCounter<'static>, EachCounter<'static>),
) -> Option<Known> {
    let [interface] = host.interfaces() else { return None };
    let grown = |each: EachCounter<'static>| host.growth(each.on(interface.as_str())).unwrap_or(0);
    let counted = (grown(bytes), grown(packets));
    is_countable(ends, host).then(|| in_bytes(ends, counted, ETHERNET_HEADER)).flatten()
}

/// Datagrams in so many bytes of so many packets, each with a header of the link.
fn in_bytes(
    ends: &DirectionEvidence<'_>,
    (bytes, packets): (u64, u64),
    link: u64,
) -> Option<Known> {
    let network = if is_version_6(ends) { IPV6_HEADER } else { IPV4_HEADER };
    let payload = bytes.saturating_sub(packets.saturating_mul(link + network + UDP_HEADER));
    let check = if link > 0 { packets.saturating_mul(FRAME_CHECK) } else { 0 };
    let least = payload.saturating_sub(CONTROL.saturating_add(check));
    let block = block(ends);
    let is_told = packets > 0 && bytes > 0;
    is_told.then(|| Known { least: least / block, most: (payload / block).saturating_add(1) })
}

/// Datagrams in a packet that came into the IP layer of `host`, in the mean; none: not told.
pub(super) fn mean_received(ends: &DirectionEvidence<'_>, host: &HostView<'_>) -> Option<f64> {
    let came = in_ip(ends, host)?;
    let packets = grown(ends, host, counter::IP_IN_RECEIVES);
    (packets > 0).then(|| came.most as f64 / packets as f64)
}

/// Datagrams in a packet that the socket of the sender made, in the mean; none: not told.
pub(super) fn mean_sent(ends: &DirectionEvidence<'_>, host: &HostView<'_>) -> Option<f64> {
    let packets = grown(ends, host, counter::UDP_OUT_DATAGRAMS);
    let sent = ends.outcome.datagrams?.sent;
    (packets > 0 && ends.record.base == 0).then(|| sent as f64 / packets as f64)
}

/// Growth of a counter of the version of IP that the test ran over.
fn grown(ends: &DirectionEvidence<'_>, host: &HostView<'_>, both: Both) -> u64 {
    let counter = if is_version_6(ends) { both.v6 } else { both.v4 };
    host.growth(counter).unwrap_or(0)
}

fn grown_of_tcp(host: &HostView<'_>) -> u64 {
    host.growth(counter::TCP_IN_SEGS).unwrap_or(0)
}

/// Whether counts fit the result: no start was omitted, no datagram travels in fragments, and
/// nobody else's datagrams are among them.
fn is_countable(ends: &DirectionEvidence<'_>, host: &HostView<'_>) -> bool {
    let record = ends.record;
    let is_alone = record.reported.shared.is_empty() && record.outcome.directions.len() == 1;
    let mtus = host.interfaces().iter().filter_map(|name| host.interface(name));
    let mtu = mtus.map(|one| u64::from(one.mtu)).min();
    let network = if is_version_6(ends) { IPV6_HEADER } else { IPV4_HEADER };
    let is_whole = mtu.is_some_and(|mtu| block(ends).saturating_add(UDP_HEADER + network) <= mtu);
    is_alone && is_whole && record.base == 0
}

fn block(ends: &DirectionEvidence<'_>) -> u64 {
    ends.record.streams.first().map_or(1, |stream| stream.block.bytes().max(1))
}

fn is_version_6(ends: &DirectionEvidence<'_>) -> bool {
    let peer = ends.record.streams.first().and_then(|stream| stream.peer);
    peer.is_some_and(|peer| peer.ip().to_canonical().is_ipv6())
}

/// Counters of segments by their ECN (RFC 3168): together all that came.
const SEGMENTS: [Both; 4] = [
    counter::IP_IN_NO_ECT_PKTS,
    counter::IP_IN_ECT1_PKTS,
    counter::IP_IN_ECT0_PKTS,
    counter::IP_IN_CE_PKTS,
];
const ETHERNET_HEADER: u64 = 14;
const IPV4_HEADER: u64 = 20;
const IPV6_HEADER: u64 = 40;
const UDP_HEADER: u64 = 8;
/// Some drivers count it.
const FRAME_CHECK: u64 = 4;
/// What the control connection may carry meanwhile, both hosts' readings included.
const CONTROL: u64 = 128 << 10;
/// Payload of a segment of TCP on Ethernet, with time stamps.
const SEGMENT: u64 = 1_448;
