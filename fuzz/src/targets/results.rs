//! Any text in place of an end's results.

use std::collections::BTreeSet;

use crate::memory;
use measurement::plan::MAX_STREAMS;
use measurement::record::PeerStream;
use protocol::iperf3::{Results, ServerOutput, StreamResult};

/// Judges one input.
pub(super) fn run(text: &[u8]) {
    let read = memory::bounded_to(PER_BYTE, text.len(), || Results::from_json(text));
    memory::bounded(text.len(), || judge(read));
}

/// A server's output may become a tree of so much; all else takes a fifth.
const PER_BYTE: usize = 40;

fn judge(read: Result<Results, String>) {
    match read {
        Ok(read) => {
            assert_sensible(&read);
            let again = Results::from_json(read.to_json().to_string().as_bytes());
            assert_same(&read, &again.expect("what was understood can be said again"));
        }
        Err(why) => assert!(!why.contains(char::is_control) && why.len() < 256, "{why:?}"),
    }
}

fn assert_sensible(results: &Results) {
    let cpu = &results.cpu;
    assert!([cpu.total, cpu.user, cpu.system].iter().all(|share| share.is_finite()));
    assert!(results.streams.len() <= 2 * MAX_STREAMS as usize);
    let name = results.congestion_used.as_deref().unwrap_or_default();
    assert!(name.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{name:?}");
    if let Some(ServerOutput::Text(text)) = &results.server_output {
        assert!(!text.contains(|c: char| c.is_control() && c != '\n' && c != '\t'), "{text:?}");
    }
    results.streams.iter().for_each(assert_stream_sensible);
    total(results);
}

fn assert_stream_sensible(stream: &StreamResult) {
    assert!(stream.jitter.is_finite());
    assert!(stream.seconds.is_finite() && stream.seconds >= 0.0);
    assert!(stream.counted.is_none_or(|sample| sample.id == stream.id));
}

/// Whoever adds up what a peer says must not overflow: that fails here by itself.
fn total(results: &Results) -> u64 {
    let streams = || results.streams.iter().cloned().map(PeerStream::from);
    let said: u64 = streams().map(|s| s.bytes + s.datagrams + s.lost).sum();
    let retransmits: u128 = streams().map(|s| u128::from(s.retransmits.unwrap_or(0))).sum();
    let counted = streams().filter_map(|s| s.counted).map(|sample| sample.counters);
    let counted: u64 = counted.map(|c| c.bytes + c.blocks + c.sequence + c.unique).sum();
    said.wrapping_add(counted).wrapping_add(u64::try_from(retransmits % (1 << 64)).unwrap_or(0))
}

/// Written and read again, nothing changes but the last digit of a fraction.
fn assert_same(one: &Results, other: &Results) {
    assert_eq!(one.streams.len(), other.streams.len());
    assert_eq!(one.congestion_used, other.congestion_used);
    assert_eq!(one.sender_has_retransmits, other.sender_has_retransmits);
    // Rows tell their own counters, which are found by the id in the other form.
    let ids: BTreeSet<_> = one.streams.iter().map(|stream| stream.id).collect();
    let is_clear = ids.len() == one.streams.len();
    for (one, other) in one.streams.iter().zip(&other.streams) {
        assert!(is_close(one.jitter, other.jitter) && is_close(one.seconds, other.seconds));
        let exact = |s: &StreamResult| (s.id, s.bytes, s.retransmits, s.errors, s.packets);
        assert_eq!(exact(one), exact(other));
        assert_eq!(one.omitted_errors.unwrap_or(0), other.omitted_errors.unwrap_or(0));
        assert_eq!(one.omitted_packets.unwrap_or(0), other.omitted_packets.unwrap_or(0));
        assert!(one.counted == other.counted || !is_clear);
    }
    if let Some(ServerOutput::Text(_)) = &one.server_output {
        assert_eq!(one.server_output, other.server_output);
    }
}

fn is_close(one: f64, other: f64) -> bool {
    (one - other).abs() <= one.abs().max(other.abs()) * 1e-15
}
