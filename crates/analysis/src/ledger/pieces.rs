//! Where one count of the kernel may stand for many datagrams.
//!
//! With `UDP_SEGMENT` (udp(7)) datagrams go down to the device as one packet, and over a veth
//! pair or a loopback they arrive as one; with `UDP_GRO` they are put together before the
//! backlog and the socket. What is dropped on the way is dropped, and counted, as a whole.
//! A socket without `UDP_GRO` gets such a packet cut (`udp_queue_rcv_skb`, `net/ipv4/udp.c`),
//! so that it counts each datagram.

use measurement::judgement::Place;
use measurement::plan::MAX_DATAGRAM;
use measurement::{DirectionOutcome, EngineUse, TestRecord};

use super::Case;

/// Datagrams that one count in `place` may stand for at most; 1: it is exact.
pub(super) fn most_in_one(case: &Case<'_>, place: Place) -> u64 {
    let sent = is_sent_in_pieces(case.record, case.outcome);
    let taken = is_taken_in_pieces(case.record, case.outcome);
    let whole = sent && is_in_software(case);
    let many = match place {
        Place::Sender | Place::SenderQueue | Place::SenderInterface => sent,
        Place::ObservedQueue | Place::ObservedInterface | Place::ReceiverInterface => whole,
        Place::ReceiverBacklog | Place::ReceiverStack => whole || taken,
        Place::ReceiverSocket => taken,
    };
    let block = case.record.streams.first().map_or(1, |stream| stream.block.bytes().max(1));
    if many { (MAX_DATAGRAM / block).clamp(1, MOST_SEGMENTS) } else { 1 }
}

/// Whether datagrams leave, or may leave, many in one packet.
pub(crate) fn is_sent_in_pieces(record: &TestRecord, outcome: &DirectionOutcome) -> bool {
    is_batched(outcome.engines.send.as_ref(), record)
}

fn is_taken_in_pieces(record: &TestRecord, outcome: &DirectionOutcome) -> bool {
    is_batched(outcome.engines.receive.as_ref(), record)
}

/// Whether an engine may handle many datagrams as one packet; where the record does not name the
/// engine, whether that was asked for.
fn is_batched(engine: Option<&EngineUse>, record: &TestRecord) -> bool {
    let asked = record.plan.options.segmentation_offload;
    engine.map_or(asked, |engine| engine.name.may_be_batched())
}

/// Whether no device between the ends cuts what goes in one piece.
fn is_in_software(case: &Case<'_>) -> bool {
    let ends = [case.sender, case.receiver].into_iter().flatten();
    let mut own = ends.flat_map(|host| {
        host.interfaces().iter().filter_map(|name| host.interface(name)?.kind.as_deref())
    });
    let peer = &case.record.peer;
    peer.address.ip() == peer.local_address.ip()
        || own.any(|kind| kind == "veth" || kind == "loopback")
}

/// `UDP_MAX_SEGMENTS` (`linux/udp.h`) and `UDP_GRO_CNT_MAX` (`net/ipv4/udp_offload.c`).
const MOST_SEGMENTS: u64 = 64;
