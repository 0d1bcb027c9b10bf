//! Datagrams that passed a point of the way, by the bytes counted there.
//!
//! A count of packets does not tell datagrams where one packet may hold many (GSO, GRO; udp(7));
//! bytes do: each datagram has the length of the test, and each packet one header. What was lost
//! on either side of such a point bounds what each place there can have dropped.

use measurement::host::{Counter, Family, counter};
use measurement::judgement::Place;

use super::DirectionEvidence;
use super::allotment::Candidate;
use crate::evidence::HostView;

/// Lost datagrams of a part of the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lost {
    least: u64,
    most: u64,
}

/// Narrows the bounds of candidates by what is known of the part of the way that they are in.
pub(super) fn narrow(ends: &DirectionEvidence<'_>, lost: u64, candidates: &mut [Candidate]) {
    if let Some(known) = before_the_wire(ends) {
        keep_within(known, lost, candidates, |place| place <= Place::SenderInterface);
    }
    if let Some(known) = behind_the_wire(ends) {
        keep_within(known, lost, candidates, |place| place >= Place::ReceiverStack);
    }
}

/// What was sent and did not leave the sender's interface.
fn before_the_wire(ends: &DirectionEvidence<'_>) -> Option<Lost> {
    let host = ends.sender?;
    let [interface] = host.interfaces() else { return None };
    let [bytes, packets] = [counter::INTERFACE_TX_BYTES, counter::INTERFACE_TX_PACKETS]
        .map(|each| each.on(interface.as_str()));
    let left = passed(ends, host, &[bytes], &[packets], ETHERNET_HEADER)?;
    let sent = ends.outcome.datagrams?.sent;
    Some(Lost { least: sent.saturating_sub(left.most), most: sent.saturating_sub(left.least) })
}

/// What the receiver's IP layer got and its sockets did not hand over.
fn behind_the_wire(ends: &DirectionEvidence<'_>) -> Option<Lost> {
    let host = ends.receiver.filter(|host| host.reports(Family::NETSTAT))?;
    let (bytes, packets) = (counter::IP_IN_OCTETS.each(), counter::IP_IN_RECEIVES.each());
    let came = passed(ends, host, &bytes, &packets, 0)?;
    let counted = ends.outcome.datagrams?;
    let taken = [Some(counted.received), counted.duplicate, counted.late].into_iter().flatten();
    let taken = taken.fold(0, u64::saturating_add);
    Some(Lost { least: came.least.saturating_sub(taken), most: came.most.saturating_sub(taken) })
}

/// Datagrams among packets that have a header of the link of so many bytes; none: they are not
/// counted, travel in fragments, or a start was omitted, so that readings do not fit the result.
fn passed(
    ends: &DirectionEvidence<'_>,
    host: &HostView<'_>,
    bytes: &[Counter<'_>],
    packets: &[Counter<'_>],
    link: u64,
) -> Option<Lost> {
    let block = block(ends);
    let sum = |counters: &[Counter<'_>]| {
        counters.iter().filter_map(|one| host.growth(*one)).fold(0, u64::saturating_add)
    };
    let (bytes, packets) = (sum(bytes), sum(packets));
    let is_told = packets > 0 && bytes > 0 && ends.record.base == 0;
    if !is_told || !is_whole(host, block) || is_shared(ends) {
        return None;
    }
    let headers = packets.saturating_mul(link + network_header(ends) + UDP_HEADER);
    let check = if link > 0 { packets.saturating_mul(FRAME_CHECK) } else { 0 };
    let payload = bytes.saturating_sub(headers);
    let least = payload.saturating_sub(CONTROL).saturating_sub(check) / block;
    Some(Lost { least, most: payload / block + 1 })
}

/// Bounds of those candidates whose places are in the part: together they have what is known
/// to be lost there. Where their counters cannot explain that much they keep theirs.
fn keep_within(
    known: Lost,
    lost: u64,
    candidates: &mut [Candidate],
    is_in_part: fn(Place) -> bool,
) {
    let known = Lost { least: known.least.min(lost), most: known.most.min(lost) };
    let part: Vec<_> = candidates.iter().filter(|one| is_in_part(one.place)).cloned().collect();
    let sum = |of: fn(&Candidate) -> u64| part.iter().map(of).fold(0, u64::saturating_add);
    let (least, most) = (sum(|one| one.least.min(one.most)), sum(|one| one.most));
    if most < known.least || least > known.most {
        return;
    }
    for one in candidates.iter_mut() {
        if is_in_part(one.place) {
            let (others_least, others_most) = (least - one.least.min(one.most), most - one.most);
            one.most = one.most.min(known.most - others_least);
            one.least = one.least.max(known.least.saturating_sub(others_most)).min(one.most);
        } else {
            one.most = one.most.min(lost - known.least);
        }
        one.likely = one.likely.clamp(one.least.min(one.most), one.most);
    }
}

/// Datagrams in a packet that came into the IP layer of `host`, in the mean; none: not told.
pub(super) fn mean_received(ends: &DirectionEvidence<'_>, host: &HostView<'_>) -> Option<f64> {
    let (bytes, packets) = (counter::IP_IN_OCTETS.each(), counter::IP_IN_RECEIVES.each());
    let came = passed(ends, host, &bytes, &packets, 0)?;
    let packets = packets.iter().filter_map(|one| host.growth(*one)).fold(0, u64::saturating_add);
    Some(came.most as f64 / packets as f64)
}

/// Datagrams in a packet that the socket of the sender made, in the mean; none: not told.
pub(super) fn mean_sent(ends: &DirectionEvidence<'_>, host: &HostView<'_>) -> Option<f64> {
    let packets = counter::UDP_OUT_DATAGRAMS.each().into_iter().filter_map(|one| host.growth(one));
    let packets = packets.fold(0, u64::saturating_add);
    let sent = ends.outcome.datagrams?.sent;
    (packets > 0 && ends.record.base == 0).then(|| sent as f64 / packets as f64)
}

fn block(ends: &DirectionEvidence<'_>) -> u64 {
    ends.record.streams.first().map_or(1, |stream| stream.block.bytes().max(1))
}

fn is_whole(host: &HostView<'_>, block: u64) -> bool {
    let mtus = host.interfaces().iter().filter_map(|name| host.interface(name));
    let mtu = mtus.map(|one| u64::from(one.mtu)).min();
    mtu.is_some_and(|mtu| block + UDP_HEADER + IPV6_HEADER <= mtu)
}

/// Other tests at the server, or the other direction on a loopback, move datagrams of their own.
fn is_shared(ends: &DirectionEvidence<'_>) -> bool {
    !ends.record.reported.shared.is_empty() || ends.record.outcome.directions.len() > 1
}

fn network_header(ends: &DirectionEvidence<'_>) -> u64 {
    let peer = ends.record.streams.first().and_then(|stream| stream.peer);
    if peer.is_some_and(|peer| peer.ip().to_canonical().is_ipv6()) {
        IPV6_HEADER
    } else {
        IPV4_HEADER
    }
}

const ETHERNET_HEADER: u64 = 14;
const IPV4_HEADER: u64 = 20;
const IPV6_HEADER: u64 = 40;
const UDP_HEADER: u64 = 8;
/// Some drivers count it.
const FRAME_CHECK: u64 = 4;
/// What the control connection and others that are always there may carry meanwhile.
const CONTROL: u64 = 128 << 10;
