//! By how much later than it was sent the last payload of a trial arrived: the delay of the path, and
//! what queues grew by.

use std::time::Duration;

use measurement::{Direction, DirectionOutcome, Role, StreamSample, TestRecord, Timestamp};

/// The delay of the last payload, by the clocks of both ends where their offset is known. Else by how
/// much longer the receiver's test took: that begins earlier than the sender's, by some milliseconds
/// that no two trials share.
pub(super) fn of_the_last(record: &TestRecord, outcome: &DirectionOutcome) -> Duration {
    by_clocks(record, outcome.direction).unwrap_or_else(|| {
        let span =
            |one: Option<measurement::Throughput>| one.map_or(Duration::ZERO, |one| one.span);
        span(outcome.delivered).saturating_sub(span(outcome.offered))
    })
}

fn by_clocks(record: &TestRecord, direction: Direction) -> Option<Duration> {
    let peer = record.hosts.iter().find(|host| host.role == Role::Peer)?;
    let add = i128::from(peer.clock?.add_nanos);
    let here = last(record.samples.last()?.streams.iter())?;
    let counted = record.reported.streams.iter().filter_map(|stream| stream.counted.as_ref());
    let (here, there) = (nanos(here), nanos(last(counted)?) + add);
    let late = if direction == Direction::Send { there - here } else { here - there };
    Some(Duration::from_nanos(u64::try_from(late.max(0)).ok()?))
}

/// When the last payload of all streams was sent, or arrived; none: it never was.
fn last<'a>(streams: impl Iterator<Item = &'a StreamSample>) -> Option<Timestamp> {
    streams.map(|stream| stream.counters.last).max().filter(|at| *at > Timestamp::default())
}

fn nanos(at: Timestamp) -> i128 {
    i128::from(at.nanos())
}

#[cfg(test)]
mod tests {
    use measurement::host::ClockOffset;
    use measurement::record::PeerStream;
    use measurement::{HostEvidence, Sample, StreamCounters, Throughput};

    use super::*;
    use crate::search::tests::rate;

    fn sample(last: u64) -> StreamSample {
        let last = Timestamp::from_nanos(last);
        StreamSample {
            id: 1,
            counters: StreamCounters { last, ..StreamCounters::default() },
            tcp: None,
            udp: None,
        }
    }

    fn trial(direction: Direction, clock: Option<ClockOffset>) -> TestRecord {
        let mut record = rate(1_000_000);
        let outcome = &mut record.outcome.directions[0];
        outcome.direction = direction;
        outcome.offered = Some(Throughput {
            span: Duration::from_millis(990),
            ..outcome.delivered.expect("one")
        });
        record.hosts = vec![HostEvidence { role: Role::Peer, clock, ..HostEvidence::default() }];
        record.samples =
            vec![Sample { at: Timestamp::default(), streams: vec![sample(5_000_000)] }];
        record.reported.streams =
            vec![PeerStream { counted: Some(sample(1_000_000)), ..PeerStream::default() }];
        record
    }

    fn delay(direction: Direction, add: Option<i64>) -> Duration {
        let clock = add.map(|add_nanos| ClockOffset { add_nanos, error_nanos: 0 });
        let record = trial(direction, clock);
        of_the_last(&record, &record.outcome.directions[0])
    }

    #[test]
    fn the_clocks_of_both_ends_tell_when_the_last_payload_came() {
        assert_eq!(delay(Direction::Send, Some(6_000_000)), Duration::from_millis(2));
        assert_eq!(delay(Direction::Receive, Some(1_000_000)), Duration::from_millis(3));
        // An offset is known but for an error.
        assert_eq!(delay(Direction::Send, Some(3_999_000)), Duration::ZERO);
    }

    #[test]
    fn a_peer_whose_clock_is_not_known_tells_how_long_its_test_took() {
        assert_eq!(delay(Direction::Send, None), Duration::from_millis(10));
    }
}
