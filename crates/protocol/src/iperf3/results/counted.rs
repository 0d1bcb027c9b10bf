//! What a linerate counted of one stream, as results carry it (clause 13.4).

use measurement::sample::{CounterKind, WireTcpSample};
use measurement::{StreamCounters, StreamSample, UdpSample};
use serde::Serialize;

use crate::iperf3::json;

/// [`StreamSample`] with the names that its fields have on the wire. It is read as a
/// [`StreamSample`], which understands both.
#[derive(Serialize)]
pub(super) struct WireStreamSample {
    id: u32,
    counters: StreamCounters,
    #[serde(skip_serializing_if = "Option::is_none")]
    tcp: Option<WireTcpSample>,
    #[serde(skip_serializing_if = "Option::is_none")]
    udp: Option<UdpSample>,
}

impl From<StreamSample> for WireStreamSample {
    fn from(sample: StreamSample) -> Self {
        let StreamSample { id, counters, tcp, udp } = sample;
        Self { id, counters, tcp: tcp.map(WireTcpSample::from), udp }
    }
}

/// Whether all numbers of a sample are within the range of a valid message.
pub(super) fn is_plausible(sample: &StreamSample) -> bool {
    let tcp = sample.tcp.unwrap_or_default();
    let totals = StreamCounters::ALL.iter().filter(|counter| counter.kind == CounterKind::Total);
    totals
        .map(|counter| (counter.get)(&sample.counters))
        .chain([tcp.acknowledged, tcp.retransmits, tcp.bytes_retransmitted])
        .all(|number| number <= json::MOST)
}
