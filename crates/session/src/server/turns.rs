//! Whose hellos come from an address.
//!
//! The hello of an iperf3 names no test: it belongs to the one test of that address that
//! may open its streams now. The others of the address wait for their turn, which is a
//! matter of milliseconds. One who has the turn and does nothing loses it; the more of
//! those an address has, the shorter the patience with the next one, so that they cannot
//! hold up for long one who would use it.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

/// The turns of all addresses.
#[derive(Debug, Default)]
pub(super) struct Turns(HashMap<IpAddr, Turn>);

#[derive(Debug)]
struct Turn {
    holder: u64,
    waiting: VecDeque<u64>,
    /// Turns that were wasted, less those that were used, within limits.
    wasted: u32,
}

impl Turns {
    /// Whether it is the turn of test `number` now; if not, it waits.
    pub(super) fn ask(&mut self, address: IpAddr, number: u64) -> bool {
        let free = || Turn { holder: number, waiting: VecDeque::new(), wasted: 0 };
        let turn = self.0.entry(address).or_insert_with(free);
        if turn.holder != number && !turn.waiting.contains(&number) {
            turn.waiting.push_back(number);
        }
        turn.holder == number
    }

    /// The test whose turn it is.
    pub(super) fn holder(&self, address: IpAddr) -> Option<u64> {
        self.0.get(&address).map(|turn| turn.holder)
    }

    /// How long the holder may let the others wait, beside some round trips; none: nobody
    /// waits, or it is not the turn of test `number`.
    pub(super) fn patience(&self, address: IpAddr, number: u64) -> Option<Duration> {
        let turn = self.0.get(&address)?;
        let keeps_waiting = turn.holder == number && !turn.waiting.is_empty();
        keeps_waiting.then(|| (LONG / (1 << turn.wasted)).max(SHORT))
    }

    /// Test `number` needs no turn any more, which it `used` if it had it; whose turn has
    /// come thereby.
    pub(super) fn release(&mut self, address: IpAddr, number: u64, used: bool) -> Option<u64> {
        let turn = self.0.get_mut(&address)?;
        if turn.holder != number {
            turn.waiting.retain(|other| *other != number);
            return None;
        }
        let Some(next) = turn.waiting.pop_front() else {
            self.0.remove(&address);
            return None;
        };
        turn.holder = next;
        turn.wasted = if used { turn.wasted.saturating_sub(1) } else { MOST.min(turn.wasted + 1) };
        Some(next)
    }
}

/// As long as nobody wasted a turn.
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
        let mut turns = Turns::default();
        let (here, there) = (address(1), address(2));
        assert!(turns.ask(here, 1) && turns.ask(there, 2));
        assert_eq!(turns.patience(here, 1), None, "nobody waits");
        assert!(!turns.ask(here, 3) && !turns.ask(here, 4) && !turns.ask(here, 5));
        assert_eq!(turns.patience(here, 1), Some(LONG));
        assert_eq!(turns.patience(here, 3), None, "it is not its turn");
        assert_eq!(turns.release(here, 4, false), None, "it only waited");
        assert_eq!(turns.release(here, 1, true), Some(3), "the first");
        assert!(turns.ask(here, 3));
        assert_eq!(turns.release(here, 3, true), Some(5));
        assert_eq!(turns.release(here, 5, true), None);
        assert_eq!(turns.holder(here), None);
        assert_eq!(turns.holder(there), Some(2));
    }

    #[test]
    fn patience_ends_where_turns_are_wasted_and_returns() {
        let mut turns = Turns::default();
        let here = address(1);
        turns.ask(here, 0);
        let mut waited = Duration::ZERO;
        for number in 1..=100 {
            turns.ask(here, number);
            waited += turns.patience(here, number - 1).expect("one waits");
            assert_eq!(turns.release(here, number - 1, false), Some(number));
        }
        assert!(waited < Duration::from_secs(3), "{waited:?}");
        for number in 101..=105 {
            turns.ask(here, number);
            turns.release(here, number - 1, true);
        }
        turns.ask(here, 106);
        assert_eq!(turns.patience(here, 105), Some(LONG));
    }
}
