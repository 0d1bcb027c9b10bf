//! The data of the first stage: a client that waits for its place, and over UDP for the
//! handshake lock.

use std::time::Duration;

use measurement::Timestamp;
use protocol::iperf3::QueuePlace;

use super::setup::StreamSetup;

/// A client that waits.
pub(super) struct Waiting {
    /// The last place that it heard of, and when.
    reported: Option<(QueuePlace, Timestamp)>,
    /// It has its part of the rates of the server, and its plan is within the limits.
    pub(super) is_limited: bool,
    /// How its streams are to come.
    pub(super) setup: StreamSetup,
}

impl Waiting {
    pub(super) const fn new(setup: StreamSetup) -> Self {
        Self { reported: None, is_limited: false, setup }
    }

    /// When the client is to hear again that it waits.
    pub(super) fn next_reminder(&self) -> Option<Timestamp> {
        self.reported.map(|(_, at)| at.after(REMIND_EVERY))
    }

    /// Whether the client is to hear now that it has this `place`.
    pub(super) fn is_news(&mut self, place: QueuePlace, now: Timestamp) -> bool {
        let is_known =
            |(known, at): (QueuePlace, Timestamp)| known == place && now < at.after(REMIND_EVERY);
        if self.reported.is_some_and(is_known) {
            return false;
        }
        self.reported = Some((place, now));
        true
    }
}

/// How often a client hears that it still waits.
const REMIND_EVERY: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use measurement::plan::PlanDraft;
    use measurement::{ByteSize, Direction, Transport};
    use protocol::iperf3::Parameters;

    use super::*;

    #[test]
    fn a_client_hears_of_its_place_when_it_changes_and_now_and_then() {
        let plan = PlanDraft::new(Transport::Tcp, Direction::Send).check().expect("a plan");
        let parameters = Parameters::new(&plan, ByteSize::from_bytes(1_000));
        let mut waiting = Waiting::new(StreamSetup::new(&parameters, 1));
        let at = |seconds| Timestamp::from_nanos(1).after(Duration::from_secs(seconds));
        let place = |ahead| QueuePlace { ahead, running: 1 };
        assert_eq!(waiting.next_reminder(), None);
        assert!(waiting.is_news(place(2), at(0)));
        assert!(!waiting.is_news(place(2), at(4)));
        assert!(waiting.is_news(place(1), at(4)));
        assert_eq!(waiting.next_reminder(), Some(at(9)));
        assert!(!waiting.is_news(place(1), at(8)) && waiting.is_news(place(1), at(9)));
    }
}
