//! What a linerate counted of one stream, as results carry it (clause 13.4).

use measurement::sample::{CounterKind, WireStreamCounters, WireTcpSample};
use measurement::{StreamCounters, StreamSample};
use serde::Serialize;

use crate::iperf3::json;
use crate::iperf3::wire_names::WireUdpSample;

/// [`StreamSample`] with the names that its fields have on the wire. It is read as a
/// [`StreamSample`], which understands both.
#[derive(Serialize)]
pub(super) struct WireStreamSample {
    id: u32,
    counters: WireStreamCounters,
    #[serde(skip_serializing_if = "Option::is_none")]
    tcp: Option<WireTcpSample>,
    #[serde(skip_serializing_if = "Option::is_none")]
    udp: Option<WireUdpSample>,
}

impl From<StreamSample> for WireStreamSample {
    fn from(sample: StreamSample) -> Self {
        let StreamSample { id, counters, tcp, udp } = sample;
        Self {
            id,
            counters: counters.into(),
            tcp: tcp.map(WireTcpSample::from),
            udp: udp.map(WireUdpSample::from),
        }
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
