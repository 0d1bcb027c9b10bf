//! Whether datagrams pass the stack many in one packet (`UDP_SEGMENT`, `UDP_GRO`; udp(7)).

use measurement::{DirectionOutcome, EngineUse, TestRecord};

/// Whether datagrams leave, or may leave, many in one packet.
pub(crate) fn is_sent_in_pieces(record: &TestRecord, outcome: &DirectionOutcome) -> bool {
    is_batched(outcome.engines.send.as_ref(), record)
}

/// Whether datagrams arrive, or may arrive, many in one packet.
pub(crate) fn is_taken_in_pieces(record: &TestRecord, outcome: &DirectionOutcome) -> bool {
    is_batched(outcome.engines.receive.as_ref(), record)
}

/// Whether an engine may handle many datagrams as one packet; where the record does not name the
/// engine, whether that was asked for.
fn is_batched(engine: Option<&EngineUse>, record: &TestRecord) -> bool {
    let asked = record.plan.options.segmentation_offload;
    engine.map_or(asked, |engine| engine.name.may_be_batched())
}
