//! Tests of a server, as it lists them to whoever administers it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dataplane::Counters;
use measurement::server_status::{ServedState, ServedTest};
use measurement::{BitRate, IntoMap, Peer, TestPlan, Timestamp};

use crate::clock::{Clock, SystemClock};

/// List of the tests that a server runs, and of those that wait.
#[derive(Default)]
pub struct StatusBoard(Mutex<Listed>);

#[derive(Default)]
struct Listed {
    next: u64,
    tests: BTreeMap<u64, StatusEntry>,
}

struct StatusEntry {
    peer: Peer,
    test: String,
    limit: Option<BitRate>,
    state: ServedState,
    run: Option<TestProgress>,
}

/// What is known of a test that runs.
struct TestProgress {
    began: Timestamp,
    ends: Option<Timestamp>,
    streams: Vec<Arc<Counters>>,
}

/// The line of one test, taken off the list when dropped.
pub(crate) struct StatusLine {
    board: Arc<StatusBoard>,
    number: u64,
}

impl StatusBoard {
    /// Adds a test that waits for its turn.
    pub(crate) fn enter(self: &Arc<Self>, peer: &Peer, plan: &TestPlan) -> StatusLine {
        let mut listed = self.lock();
        let number = listed.next;
        listed.next += 1;
        let entry = StatusEntry {
            peer: peer.clone(),
            test: plan.row(),
            limit: None,
            state: ServedState::Waiting,
            run: None,
        };
        listed.tests.insert(number, entry);
        StatusLine { board: Arc::clone(self), number }
    }

    /// The tests, the oldest first. Their rates are measured while this waits, for a quarter of a
    /// second.
    pub fn tests(&self) -> Vec<ServedTest> {
        let before = self.moved();
        let from = SystemClock.now();
        std::thread::sleep(MEASURED);
        self.tests_since(&before, from, SystemClock.now())
    }

    fn tests_since(
        &self,
        before: &BTreeMap<u64, u64>,
        from: Timestamp,
        now: Timestamp,
    ) -> Vec<ServedTest> {
        let listed = self.lock();
        let of_one = |(number, entry): (&u64, &StatusEntry)| {
            let moved = entry.run.as_ref().map_or(0, TestProgress::moved);
            let since = before.get(number).map(|before| moved.saturating_sub(*before));
            let run = entry.run.as_ref();
            ServedTest {
                client: entry.peer.address,
                software: entry.peer.software.clone(),
                test: entry.test.clone(),
                state: entry.state,
                ran: run.map(|run| now.since(run.began)),
                left: run.and_then(|run| Some(run.ends?.since(now))),
                bytes: moved,
                rate: since.map(|bytes| BitRate::average(bytes, now.since(from))),
                limit: entry.limit,
            }
        };
        listed.tests.iter().map(of_one).collect()
    }

    /// What the tests have moved that run.
    fn moved(&self) -> BTreeMap<u64, u64> {
        let listed = self.lock();
        let running = listed.tests.iter().filter_map(|(number, entry)| {
            let run = entry.run.as_ref()?;
            Some((*number, run.moved()))
        });
        running.into_map()
    }

    fn lock(&self) -> MutexGuard<'_, Listed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for StatusBoard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StatusBoard").field("tests", &self.lock().tests.len()).finish()
    }
}

impl TestProgress {
    fn moved(&self) -> u64 {
        self.streams.iter().map(|counters| counters.bytes()).sum()
    }
}

impl StatusLine {
    /// Its client opens the streams, and keeps to the `limit`.
    pub(crate) fn opens(&self, limit: Option<BitRate>) {
        self.change(|entry| (entry.state, entry.limit) = (ServedState::Opening, limit));
    }

    /// Its `streams` run from `began` on; `ends` is when they stop, if that is known.
    pub(crate) fn runs(
        &self,
        began: Timestamp,
        ends: Option<Timestamp>,
        streams: Vec<Arc<Counters>>,
    ) {
        self.change(|entry| {
            entry.state = ServedState::Running;
            entry.run = Some(TestProgress { began, ends, streams });
        });
    }

    fn change(&self, change: impl FnOnce(&mut StatusEntry)) {
        if let Some(entry) = self.board.lock().tests.get_mut(&self.number) {
            change(entry);
        }
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        self.board.lock().tests.remove(&self.number);
    }
}

/// Time over which rates are measured.
const MEASURED: Duration = Duration::from_millis(250);

#[cfg(test)]
mod tests {
    use measurement::plan::PlanDraft;
    use measurement::{Direction, StreamCounters, Transport};

    use super::*;

    #[test]
    fn a_test_is_listed_from_its_first_word_to_its_end() {
        let board = Arc::new(StatusBoard::default());
        let at = |millis| Timestamp::from_nanos(1).after(Duration::from_millis(millis));
        let address = "10.0.0.1:40000".parse().expect("an address");
        let peer = Peer { software: "iperf3".to_owned(), address, local_address: address };
        let plan = PlanDraft::new(Transport::Tcp, Direction::Send).check().expect("a plan");
        let line = board.enter(&peer, &plan);
        let waiting = board.tests_since(&BTreeMap::new(), at(0), at(100)).remove(0);
        assert_eq!((waiting.state, waiting.rate), (ServedState::Waiting, None));
        let limit = Some(BitRate::from_bits_per_second(1_000));
        line.opens(limit);
        let counters = Arc::new(Counters::default());
        line.runs(at(0), Some(at(5_000)), vec![Arc::clone(&counters)]);
        let before = board.moved();
        counters.publish(&StreamCounters { bytes: 1_000, ..StreamCounters::default() });
        let running = board.tests_since(&before, at(500), at(1_000)).remove(0);
        assert_eq!(running.rate, Some(BitRate::from_bits_per_second(16_000)));
        assert_eq!(running.left, Some(Duration::from_secs(4)));
        assert_eq!((running.limit, running.test.as_str()), (limit, "TCP send"));
        drop(line);
        assert!(board.tests().is_empty());
    }
}
