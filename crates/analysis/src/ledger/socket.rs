//! What the receiver's own sockets dropped: exact, and of nobody else.

use measurement::judgement::Place;
use measurement::{Role, StreamSample};

use super::allotment::{Candidate, CounterScope};
use super::{DirectionEvidence, pieces};
use crate::evidence::{receiver, streams};

/// Packets that they dropped during the result; none: they do not tell.
pub(super) fn own(ends: &DirectionEvidence<'_>) -> Option<u64> {
    let record = ends.record;
    if receiver(ends.outcome.direction) == Role::Here {
        let (base, last) = (record.samples.get(record.base)?, record.samples.last()?);
        let pairs = base.streams.iter().zip(&last.streams).zip(&record.streams);
        let own = pairs.filter(|(_, stream)| !stream.sender);
        return sum(own.map(|((from, to), _)| Some(to.udp?.drops.saturating_sub(from.udp?.drops))));
    }
    let ids = streams(record, true);
    let reported = record.reported.streams.iter().filter(|stream| ids.contains(&stream.id));
    let drops = |counted: StreamSample| Some(counted.udp?.drops);
    sum(reported.map(|stream| stream.counted.and_then(drops)))
}

/// None if there are none, or one does not tell.
fn sum(mut drops: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    let first = drops.next()??;
    drops.try_fold(first, |sum, more| Some(sum.saturating_add(more?)))
}

/// They as an explanation.
pub(super) fn candidate(ends: &DirectionEvidence<'_>) -> Option<Candidate> {
    let counted = own(ends)?;
    let most = counted.saturating_mul(pieces::most_in_one(ends, Place::ReceiverSocket));
    Some(Candidate {
        place: Place::ReceiverSocket,
        counter: "drops of the test's sockets (SO_MEMINFO)".to_owned(),
        counted,
        least: counted,
        likely: most,
        most,
        scope: CounterScope::Test,
    })
}
