//! Handshake lock: which test of an address may open UDP streams by hellos without a token.
//!
//! The hello of an iperf3 names no test: it belongs to the one test of that address that
//! may open its streams now. The others of the address wait for the lock, which is a
//! matter of milliseconds. A test that holds the lock and does nothing loses it; the more of
//! those an address has, the shorter the patience with the next one, so that they cannot
//! hold up for long a test that would use it.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

/// The handshake locks of all addresses.
#[derive(Debug, Default)]
pub(crate) struct HandshakeLocks(HashMap<IpAddr, HandshakeLock>);

#[derive(Debug)]
struct HandshakeLock {
    holder: u64,
    waiting: VecDeque<u64>,
    /// Times it was held and not used, less the times it was used, within limits.
    wasted: u32,
}

impl HandshakeLocks {
    /// Whether test `number` holds the lock now; if not, it waits for it.
    pub(crate) fn ask(&mut self, address: IpAddr, number: u64) -> bool {
        let free = || HandshakeLock { holder: number, waiting: VecDeque::new(), wasted: 0 };
        let lock = self.0.entry(address).or_insert_with(free);
        if lock.holder != number && !lock.waiting.contains(&number) {
            lock.waiting.push_back(number);
        }
        lock.holder == number
    }

    /// The test that holds the lock.
    pub(crate) fn holder(&self, address: IpAddr) -> Option<u64> {
        self.0.get(&address).map(|lock| lock.holder)
    }

    /// How long the holder may let the others wait, beside some round trips; none: no test
    /// waits, or test `number` does not hold the lock.
    pub(crate) fn patience(&self, address: IpAddr, number: u64) -> Option<Duration> {
        let lock = self.0.get(&address)?;
        let keeps_waiting = lock.holder == number && !lock.waiting.is_empty();
        keeps_waiting.then(|| (LONG / (1 << lock.wasted)).max(SHORT))
    }

    /// Test `number` needs the lock no more, and `used` it if it held it; the test that holds it
    /// now, if that changed.
    pub(crate) fn release(&mut self, address: IpAddr, number: u64, used: bool) -> Option<u64> {
        let lock = self.0.get_mut(&address)?;
        if lock.holder != number {
            lock.waiting.retain(|other| *other != number);
            return None;
        }
        let Some(next) = lock.waiting.pop_front() else {
            self.0.remove(&address);
            return None;
        };
        lock.holder = next;
        lock.wasted = if used { lock.wasted.saturating_sub(1) } else { MOST.min(lock.wasted + 1) };
        Some(next)
    }
}

/// As long as no holder wasted the lock.
const LONG: Duration = Duration::from_millis(500);
/// What a client on a busy host may need to answer.
const SHORT: Duration = Duration::from_millis(20);
/// Beyond, the patience is the short one anyway.
const MOST: u32 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        std::net::Ipv4Addr::new(10, 0, 0, last).into()
    }

    #[test]
    fn one_test_of_an_address_opens_its_streams_at_a_time() {
        let mut locks = HandshakeLocks::default();
        let (here, there) = (address(1), address(2));
        assert!(locks.ask(here, 1) && locks.ask(there, 2));
        assert_eq!(locks.patience(here, 1), None, "no test waits");
        assert!(!locks.ask(here, 3) && !locks.ask(here, 4) && !locks.ask(here, 5));
        assert_eq!(locks.patience(here, 1), Some(LONG));
        assert_eq!(locks.patience(here, 3), None, "it does not hold the lock");
        assert_eq!(locks.release(here, 4, false), None, "it only waited");
        assert_eq!(locks.release(here, 1, true), Some(3), "the first");
        assert!(locks.ask(here, 3));
        assert_eq!(locks.release(here, 3, true), Some(5));
        assert_eq!(locks.release(here, 5, true), None);
        assert_eq!(locks.holder(here), None);
        assert_eq!(locks.holder(there), Some(2));
    }

    #[test]
    fn patience_ends_where_turns_are_wasted_and_returns() {
        let mut locks = HandshakeLocks::default();
        let here = address(1);
        locks.ask(here, 0);
        let mut waited = Duration::ZERO;
        for number in 1..=100 {
            locks.ask(here, number);
            waited += locks.patience(here, number - 1).expect("one waits");
            assert_eq!(locks.release(here, number - 1, false), Some(number));
        }
        assert!(waited < Duration::from_secs(3), "{waited:?}");
        for number in 101..=105 {
            locks.ask(here, number);
            locks.release(here, number - 1, true);
        }
        locks.ask(here, 106);
        assert_eq!(locks.patience(here, 105), Some(LONG));
    }
}
