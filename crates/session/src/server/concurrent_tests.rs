//! Other tests that a server ran at the same time as one, and how much they moved.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dataplane::Counters;
use measurement::IntoMap;
use measurement::record::Neighbour;

/// All tests that move payload now.
#[derive(Debug, Default)]
pub(crate) struct ConcurrentTests(Mutex<RunningTests>);

#[derive(Debug, Default)]
struct RunningTests {
    next: u64,
    running: BTreeMap<u64, RunningTest>,
}

/// One test.
#[derive(Debug)]
struct RunningTest {
    client: IpAddr,
    streams: Vec<Arc<Counters>>,
    /// Other tests that run, with the bytes that they had moved when both had begun.
    met: BTreeMap<u64, u64>,
    /// What other tests moved that have ended.
    gone: BTreeMap<IpAddr, Share>,
    /// What further clients moved, beyond the number that are kept apart.
    crowd: Share,
}

/// What others moved.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    tests: u32,
    bytes: u64,
}

impl Share {
    fn add(&mut self, bytes: u64) {
        self.tests = self.tests.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes);
    }

    const fn by(self, address: Option<IpAddr>) -> Neighbour {
        Neighbour { address, tests: self.tests, bytes: self.bytes }
    }
}

impl RunningTest {
    fn moved(&self) -> u64 {
        self.streams.iter().map(|counters| counters.bytes()).sum()
    }
}

fn note(gone: &mut BTreeMap<IpAddr, Share>, crowd: &mut Share, client: IpAddr, bytes: u64) {
    if gone.len() < MOST_APART || gone.contains_key(&client) {
        gone.entry(client).or_default().add(bytes);
    } else {
        crowd.add(bytes);
    }
}

/// One test's stay; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Presence {
    concurrent: Arc<ConcurrentTests>,
    number: u64,
}

impl ConcurrentTests {
    /// A test of `client` begins to move what `streams` count.
    pub(crate) fn enter(self: &Arc<Self>, client: IpAddr, streams: Vec<Arc<Counters>>) -> Presence {
        let mut tests = self.lock();
        let number = tests.next;
        tests.next += 1;
        let met = tests.running.iter().map(|(number, other)| (*number, other.moved())).into_map();
        for other in tests.running.values_mut() {
            other.met.insert(number, 0);
        }
        let (gone, crowd) = (BTreeMap::new(), Share::default());
        tests.running.insert(number, RunningTest { client, streams, met, gone, crowd });
        Presence { concurrent: Arc::clone(self), number }
    }

    fn lock(&self) -> MutexGuard<'_, RunningTests> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Presence {
    /// What others moved since it began, by client.
    pub(crate) fn shared(&self) -> Vec<Neighbour> {
        let tests = self.concurrent.lock();
        let Some(own) = tests.running.get(&self.number) else { return Vec::new() };
        let (mut gone, mut crowd) = (own.gone.clone(), own.crowd);
        for (number, before) in &own.met {
            if let Some(other) = tests.running.get(number) {
                let bytes = other.moved().saturating_sub(*before);
                note(&mut gone, &mut crowd, other.client, bytes);
            }
        }
        let mut shared: Vec<_> =
            gone.into_iter().map(|(client, share)| share.by(Some(client))).collect();
        shared.extend((crowd.tests > 0).then(|| crowd.by(None)));
        shared
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        let mut tests = self.concurrent.lock();
        let Some(own) = tests.running.remove(&self.number) else { return };
        let moved = own.moved();
        for other in tests.running.values_mut() {
            if let Some(before) = other.met.remove(&self.number) {
                note(&mut other.gone, &mut other.crowd, own.client, moved.saturating_sub(before));
            }
        }
    }
}

/// Clients that are kept apart in one test's account.
const MOST_APART: usize = 64;

#[cfg(test)]
mod tests {
    use measurement::StreamCounters;

    use super::*;

    fn client(last: u8) -> IpAddr {
        std::net::Ipv4Addr::new(10, 0, 0, last).into()
    }

    fn stream(bytes: u64) -> Arc<Counters> {
        let counters = Arc::new(Counters::default());
        counters.publish(&StreamCounters { bytes, ..StreamCounters::default() });
        counters
    }

    #[test]
    fn only_what_moved_in_the_same_time_counts() {
        let all = Arc::new(ConcurrentTests::default());
        let first = stream(1_000);
        let one = all.enter(client(1), vec![Arc::clone(&first)]);
        assert!(one.shared().is_empty());
        let two = all.enter(client(2), vec![stream(30), stream(4)]);
        first.publish(&StreamCounters { bytes: 1_500, ..StreamCounters::default() });
        let expected = Neighbour { address: Some(client(1)), tests: 1, bytes: 500 };
        assert_eq!(two.shared(), [expected]);
        drop(two);
        drop(all.enter(client(2), vec![stream(6)]));
        let three = all.enter(client(3), vec![stream(7)]);
        let expected = [
            Neighbour { address: Some(client(2)), tests: 2, bytes: 40 },
            Neighbour { address: Some(client(3)), tests: 1, bytes: 7 },
        ];
        assert_eq!(one.shared(), expected);
        drop(one);
        assert_eq!(three.shared()[0].tests, 1);
        drop(three);
        assert!(all.lock().running.is_empty());
    }

    #[test]
    fn a_long_test_does_not_remember_every_client() {
        let all = Arc::new(ConcurrentTests::default());
        let one = all.enter(client(1), Vec::new());
        for last in 0..200 {
            drop(all.enter(client(last), vec![stream(1)]));
        }
        let shared = one.shared();
        assert_eq!(shared.len(), MOST_APART + 1);
        assert_eq!(shared.iter().map(|neighbour| neighbour.tests).sum::<u32>(), 200);
        assert_eq!(shared.last().expect("the crowd").address, None);
    }
}
