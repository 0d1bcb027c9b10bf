//! What the senders and the receivers of a direction counted during the result.

use std::time::Duration;

use measurement::{Direction, Role, StreamSample, TestRecord};

use super::{receiver, sender, streams};

/// Each sender from the end of the omitted start on, and how long it was measured; empty if
/// it does not tell.
pub(crate) fn senders(record: &TestRecord, direction: Direction) -> Vec<(StreamSample, Duration)> {
    match sender(direction) {
        Role::Here => own(record, true),
        _ => reported(record, true),
    }
}

/// Each receiver from the end of the omitted start on; empty if it does not report it.
pub(crate) fn receivers(record: &TestRecord, direction: Direction) -> Vec<StreamSample> {
    let all = match receiver(direction) {
        Role::Here => own(record, false),
        _ => reported(record, false),
    };
    all.into_iter().map(|(one, _)| one).collect()
}

/// Streams of this end on which it sends, or those on which it receives.
fn own(record: &TestRecord, sends: bool) -> Vec<(StreamSample, Duration)> {
    let ends = record.samples.get(record.base).zip(record.samples.last());
    let Some((base, last)) = ends else { return Vec::new() };
    let Some(span) = record.result_span() else { return Vec::new() };
    let pairs = base.streams.iter().zip(&last.streams).zip(&record.streams);
    let own = pairs.filter(|(_, stream)| stream.sender == sends);
    // Counters of a kernel only grow, but records are files that anybody can have written.
    let grew = own.filter(|((from, to), _)| is_later(from, to));
    grew.map(|((from, to), _)| (to.since(from), span)).collect()
}

fn is_later(from: &StreamSample, to: &StreamSample) -> bool {
    let counts = |sample: &StreamSample| {
        let own = sample.counters;
        [own.bytes, own.blocks, own.sequence, own.unique, own.reordered, own.duplicate, own.late]
            .into_iter()
            .chain([own.malformed])
    };
    counts(from).zip(counts(to)).all(|(from, to)| from <= to)
}

/// Streams of the peer on which it sends, or those on which it receives.
fn reported(record: &TestRecord, sends: bool) -> Vec<(StreamSample, Duration)> {
    let ids = streams(record, !sends);
    let reported = record.reported.streams.iter().filter(|stream| ids.contains(&stream.id));
    let counted = reported.filter_map(|stream| {
        let span = Duration::try_from_secs_f64(stream.seconds).unwrap_or_default();
        Some((stream.counted?, span))
    });
    counted.collect()
}
