//! What a linerate counted of one stream, as results carry it (clause 13.4).

use measurement::sample::CounterKind;
use measurement::{StreamCounters, StreamSample};

use crate::iperf3::json;

/// Whether all numbers of a sample are within the range of a valid message.
pub(super) fn is_plausible(sample: &StreamSample) -> bool {
    let tcp = sample.tcp.unwrap_or_default();
    let totals = StreamCounters::ALL.iter().filter(|counter| counter.kind == CounterKind::Total);
    totals
        .map(|counter| (counter.get)(&sample.counters))
        .chain([tcp.acknowledged, tcp.retransmits, tcp.bytes_retransmitted])
        .all(|number| number <= json::MOST)
}
