//! Where one count of the kernel may stand for many datagrams.
//!
//! With `UDP_SEGMENT` (udp(7)) datagrams go down to the device as one packet, and over a veth
//! pair or a loopback they arrive as one; with `UDP_GRO` they are put together before the
//! backlog and the socket. What is dropped on the way is dropped, and counted, as a whole.
//! A socket without `UDP_GRO` gets such a packet cut (`udp_queue_rcv_skb`, `net/ipv4/udp.c`),
//! so that it counts each datagram.

use measurement::Peer;
use measurement::judgement::Place;
use measurement::plan::MAX_DATAGRAM;

use super::{DirectionEvidence, checkpoints};
use crate::evidence::{HostView, is_sent_in_pieces, is_taken_in_pieces};

/// Datagrams that one count in `place` may stand for at most; 1: it is exact.
pub(super) fn most_in_one(ends: &DirectionEvidence<'_>, place: Place) -> u64 {
    let sent = is_sent_in_pieces(ends.record, ends.outcome);
    let taken = is_taken_in_pieces(ends.record, ends.outcome);
    let whole = sent && is_in_software(ends);
    let many = match place {
        Place::Sender | Place::SenderQueue | Place::SenderInterface => sent,
        Place::ObservedIngress
        | Place::ObservedForward
        | Place::ObservedQueue
        | Place::ObservedInterface
        | Place::ReceiverInterface => whole,
        Place::ReceiverBacklog
        | Place::ReceiverIngress
        | Place::ReceiverStack
        | Place::ReceiverFirewall => whole || taken,
        Place::ReceiverSocket => taken,
    };
    let block = ends.record.streams.first().map_or(1, |stream| stream.block.bytes().max(1));
    if many { (MAX_DATAGRAM / block).clamp(1, MOST_SEGMENTS) } else { 1 }
}

/// Datagrams that one count in `place` on `host` stands for in the mean; none: not told.
pub(super) fn usual_in_one(
    ends: &DirectionEvidence<'_>,
    host: &HostView<'_>,
    place: Place,
) -> Option<f64> {
    let is_one = most_in_one(ends, place) == 1;
    let told = match place {
        _ if is_one => None,
        Place::Sender | Place::SenderQueue | Place::SenderInterface => {
            checkpoints::mean_sent(ends, host)
        }
        _ => checkpoints::mean_received(ends, host),
    };
    told.map(|mean| mean.max(1.0))
}

/// Whether no device between the ends cuts what goes in one piece.
fn is_in_software(ends: &DirectionEvidence<'_>) -> bool {
    let hosts = [ends.sender, ends.receiver].into_iter().flatten();
    let mut own = hosts.flat_map(|host| {
        host.interfaces().iter().filter_map(|name| host.interface(name)?.kind.as_deref())
    });
    ends.record.peer.as_ref().is_some_and(Peer::is_on_this_host)
        || own.any(|kind| kind == "veth" || kind == "loopback")
}

/// `UDP_MAX_SEGMENTS` (`linux/udp.h`) since Linux 6.9; it was 64, as `UDP_GRO_CNT_MAX`
/// (`net/ipv4/udp_offload.c`) is.
const MOST_SEGMENTS: u64 = 128;
