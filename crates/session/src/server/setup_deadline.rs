//! By when the streams of a test must have come.
//!
//! A client holds a place of the server while it opens its streams. One that opens them one
//! after another may take some time for each; one that opens many at a time has to bring a
//! part of those that may be under way in that time, and all in as many such times as there
//! are rounds of them.

use std::time::Duration;

use measurement::{Timestamp, Transport};

/// How far the streams of one test have come, and when.
#[derive(Debug)]
pub(crate) struct SetupDeadline {
    streams: u32,
    /// Streams that may be under way; none: they come one after another.
    under_way: Option<u32>,
    began: Timestamp,
    /// When as many streams had come as must come in one span of patience.
    kept: Timestamp,
    /// How many had come then.
    counted: u32,
}

/// How the streams come, and how soon other tests need the place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conditions {
    pub(crate) transport: Transport,
    /// Round-trip time of the control connection, as the client's kernel makes it.
    pub(crate) rtt: Duration,
    /// How long others wait for the next stream, beside some round trips; none: no test waits.
    pub(crate) others: Option<Duration>,
}

impl SetupDeadline {
    /// The deadline of streams that come one after another.
    pub(crate) fn one_by_one(streams: u32) -> Self {
        let (began, kept) = (Timestamp::default(), Timestamp::default());
        Self { streams, under_way: None, began, kept, counted: 0 }
    }

    /// The deadline of streams of which so many may be under way.
    pub(crate) fn in_rounds(streams: u32, under_way: u32) -> Self {
        Self { under_way: Some(under_way.max(1)), ..Self::one_by_one(streams) }
    }

    /// The client may open its streams.
    pub(crate) const fn begin(&mut self, now: Timestamp) {
        (self.began, self.kept) = (now, now);
    }

    /// `count` streams have come in all.
    pub(crate) fn came(&mut self, count: u32, now: Timestamp) {
        if count >= self.counted.saturating_add(self.part()) {
            (self.counted, self.kept) = (count, now);
        }
    }

    /// The streams that must come in one span of patience, if so many are left.
    fn part(&self) -> u32 {
        self.under_way.map_or(1, |most| (most / PARTS).max(1))
    }

    /// When the client has failed.
    pub(crate) fn limit(&self, way: Conditions) -> Timestamp {
        let patience = self.patience(way);
        self.kept.after(patience).min(self.began.after(self.in_all(way, patience)))
    }

    fn patience(&self, way: Conditions) -> Duration {
        let long = if way.transport == Transport::Tcp { TCP_PATIENCE } else { UDP_PATIENCE };
        way.others.map_or(long, |short| {
            let part = self.part().min(self.streams);
            let work = self.under_way.map_or(Duration::ZERO, |_| LEAST_EACH * part);
            (short + 4 * way.rtt.min(LONGEST_RTT) + work).min(long)
        })
    }

    fn in_all(&self, way: Conditions, patience: Duration) -> Duration {
        let twice = 2 * way.rtt.min(LONGEST_RTT);
        let Some(under_way) = self.under_way else {
            return match way.others {
                Some(short) => short + QUEUED_PATIENCE + self.streams * (twice + SHORT_EACH),
                None => OPENING_LIMIT + self.streams * OPENING_EACH,
            };
        };
        // One more, for what is lost on the way.
        let rounds = self.streams.div_ceil(under_way) + 1;
        let each = twice.min(OPENING_EACH).max(LEAST_EACH);
        (patience * rounds).min(OPENING_LIMIT + self.streams * each)
    }
}

/// How long others in the queue wait for the next stream, beside four round trips.
pub(crate) const QUEUED_PATIENCE: Duration = Duration::from_secs(1);
/// How long the next stream may take: a connect that is repeated, or hellos.
const TCP_PATIENCE: Duration = Duration::from_secs(10);
const UDP_PATIENCE: Duration = Duration::from_secs(5);
/// All of them together.
const OPENING_LIMIT: Duration = Duration::from_secs(30);
const OPENING_EACH: Duration = Duration::from_millis(500);
/// Time for each stream of those that come many at a time, at least.
const LEAST_EACH: Duration = Duration::from_millis(5);
/// Time for each stream beside two round trips, when other tests wait.
const SHORT_EACH: Duration = Duration::from_millis(10);
/// A client that acknowledges late makes its turn no longer than this allows.
const LONGEST_RTT: Duration = Duration::from_secs(1);
/// One of so many parts of the streams under way must come in one span of patience.
const PARTS: u32 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    const ALONE: Conditions =
        Conditions { transport: Transport::Tcp, rtt: Duration::from_secs(60), others: None };
    const QUEUED: Conditions = Conditions { others: Some(QUEUED_PATIENCE), ..ALONE };

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_nanos(1).after(Duration::from_secs(seconds))
    }

    fn begun(mut deadline: SetupDeadline) -> SetupDeadline {
        deadline.begin(at(0));
        deadline
    }

    /// When a client fails that brings one stream after another, each after `pause`.
    fn trickle(mut deadline: SetupDeadline, way: Conditions, pause: Duration) -> Duration {
        let (mut now, mut count) = (at(0), 0);
        while now < deadline.limit(way) && count < deadline.streams {
            (now, count) = (now.after(pause), count + 1);
            deadline.came(count, now);
        }
        now.min(deadline.limit(way)).since(at(0))
    }

    #[test]
    fn a_part_of_those_under_way_must_come_in_each_span_of_patience() {
        let mut deadline = begun(SetupDeadline::in_rounds(4_000, 1_000));
        deadline.came(249, at(9));
        assert_eq!(deadline.limit(ALONE), at(10));
        deadline.came(250, at(9));
        assert_eq!(deadline.limit(ALONE), at(19));
        deadline.came(500, at(18));
        deadline.came(501, at(19));
        assert_eq!(deadline.limit(ALONE), at(28));
        deadline.came(3_999, at(27));
        assert_eq!(deadline.limit(ALONE), at(37), "the last one");
    }

    #[test]
    fn all_must_come_in_as_many_spans_as_there_are_rounds() {
        let mut deadline = begun(SetupDeadline::in_rounds(4_000, 1_000));
        for second in 0..12 {
            deadline.came(260 * second, at(4 * u64::from(second)));
        }
        assert_eq!(deadline.limit(ALONE), at(50));
        let udp = Conditions { transport: Transport::Udp, ..ALONE };
        assert_eq!(deadline.limit(udp), at(25));
    }

    #[test]
    fn a_trickle_of_streams_holds_a_place_for_a_moment_only() {
        let slow = Duration::from_millis(490);
        for under_way in [128, 1_024] {
            let streams = || begun(SetupDeadline::in_rounds(65_535, under_way));
            assert_eq!(trickle(streams(), ALONE, slow), Duration::from_secs(10));
            let queued = trickle(streams(), QUEUED, slow);
            assert!(queued < Duration::from_secs(7), "{queued:?}");
        }
        // As fast as it must be it is done soon, or has failed.
        let brisk = Duration::from_millis(39);
        let all = trickle(begun(SetupDeadline::in_rounds(65_535, 1_024)), ALONE, brisk);
        assert_eq!(all, Duration::from_secs(650));
    }

    #[test]
    fn few_streams_are_not_given_the_time_of_many() {
        let near = Conditions { rtt: Duration::ZERO, ..QUEUED };
        let limit =
            |streams| begun(SetupDeadline::in_rounds(streams, 1_024)).limit(near).since(at(0));
        assert_eq!(limit(1), Duration::from_millis(1_005));
        assert_eq!(limit(10_000), Duration::from_millis(2_280));
    }

    #[test]
    fn streams_one_by_one_are_given_the_time_of_an_iperf3() {
        let mut deadline = begun(SetupDeadline::one_by_one(128));
        deadline.came(1, at(7));
        assert_eq!(deadline.limit(ALONE), at(17));
        let near = Conditions { rtt: Duration::ZERO, ..QUEUED };
        assert_eq!(deadline.limit(near).since(at(0)), Duration::from_millis(3_280));
        deadline.came(2, at(94));
        assert_eq!(deadline.limit(ALONE), at(94));
    }
}
