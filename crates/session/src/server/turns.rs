//! Whose hellos come from an address.
//!
//! The hello of an iperf3 names no test: it belongs to the one test of that address that
//! may open its streams now. The others of the address wait for their turn, which is a
//! matter of milliseconds; the latest comes first, so that those who got their turn
//! and do nothing do not hold up one who would.

use std::collections::HashMap;
use std::net::IpAddr;

/// The turns of all addresses.
#[derive(Debug, Default)]
pub(super) struct Turns(HashMap<IpAddr, Turn>);

#[derive(Debug)]
struct Turn {
    holder: u64,
    waiting: Vec<u64>,
}

impl Turns {
    /// Whether it is the turn of test `number` now; if not, it waits.
    pub(super) fn ask(&mut self, address: IpAddr, number: u64) -> bool {
        let turn = self.0.entry(address).or_insert(Turn { holder: number, waiting: Vec::new() });
        if turn.holder != number && !turn.waiting.contains(&number) {
            turn.waiting.push(number);
        }
        turn.holder == number
    }

    /// The test whose turn it is.
    pub(super) fn holder(&self, address: IpAddr) -> Option<u64> {
        self.0.get(&address).map(|turn| turn.holder)
    }

    /// Whether others wait.
    pub(super) fn is_contended(&self, address: IpAddr) -> bool {
        self.0.get(&address).is_some_and(|turn| !turn.waiting.is_empty())
    }

    /// Test `number` needs no turn any more; whose turn has come thereby.
    pub(super) fn release(&mut self, address: IpAddr, number: u64) -> Option<u64> {
        let turn = self.0.get_mut(&address)?;
        if turn.holder != number {
            turn.waiting.retain(|other| *other != number);
            return None;
        }
        let Some(next) = turn.waiting.pop() else {
            self.0.remove(&address);
            return None;
        };
        turn.holder = next;
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_test_of_an_address_opens_its_streams_at_a_time() {
        let mut turns = Turns::default();
        let [here, there] = [1, 2].map(|last| std::net::Ipv4Addr::new(10, 0, 0, last).into());
        assert!(turns.ask(here, 1) && turns.ask(there, 2));
        assert!(!turns.is_contended(here));
        assert!(!turns.ask(here, 3) && !turns.ask(here, 4) && !turns.ask(here, 5));
        assert!(turns.is_contended(here) && !turns.is_contended(there));
        assert_eq!(turns.release(here, 4), None, "it only waited");
        assert_eq!(turns.release(here, 1), Some(5), "the latest");
        assert!(turns.ask(here, 5));
        assert_eq!(turns.release(here, 5), Some(3));
        assert_eq!(turns.release(here, 3), None);
        assert_eq!(turns.holder(here), None);
        assert_eq!(turns.holder(there), Some(2));
    }
}
