//! What a test came to at a server.

use measurement::outcome::DirectionOutcome;
use measurement::record::{PeerStream, StreamRecord};

use crate::measured::Measured;

/// What a test came to at this end.
#[derive(Default)]
pub(crate) struct Sums {
    pub(crate) received: u64,
    pub(crate) sent: u64,
    pub(crate) answered: Option<u64>,
    pub(crate) dropped: u64,
    pub(crate) streams: Vec<StreamRecord>,
    pub(crate) directions: Vec<DirectionOutcome>,
}

impl Sums {
    /// Those of a test that `received` and `sent` so many bytes, with what the peer reported.
    pub(crate) fn new(
        (received, sent): (u64, u64),
        measured: Measured,
        peer: &[PeerStream],
    ) -> Self {
        let (directions, dropped) = (measured.directions(peer), measured.dropped());
        let Some(exchange) = measured.plan.exchange else {
            let streams = measured.records;
            return Self { received, sent, answered: None, dropped, streams, directions };
        };
        let answered = measured.blocks();
        Self {
            received: answered.saturating_mul(exchange.request.bytes()),
            sent: answered.saturating_mul(exchange.response.bytes()),
            answered: Some(answered),
            dropped,
            streams: measured.records,
            directions,
        }
    }

    /// Adds those of what came after it in the same test.
    pub(crate) fn add(&mut self, next: Self) {
        self.received += next.received;
        self.sent += next.sent;
        self.dropped += next.dropped;
        self.answered = next.answered.or(self.answered);
        self.streams.extend(next.streams);
        self.directions.extend(next.directions);
    }
}
