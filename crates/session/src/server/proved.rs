//! Addresses that have proved themselves: from each of them a TCP handshake was completed, which nobody
//! can who forges an address.

use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use measurement::Timestamp;

/// The addresses, the latest last.
#[derive(Default)]
pub(crate) struct ProvedAddresses(Mutex<Vec<(IpAddr, Timestamp)>>);

impl ProvedAddresses {
    /// A connection of `client` was accepted. Of too many addresses the oldest makes room.
    pub(crate) fn note(&self, client: IpAddr, now: Timestamp) {
        let client = client.to_canonical();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(other, _)| *other != client);
        let surplus = (all.len() + 1).saturating_sub(MOST);
        all.drain(..surplus);
        all.push((client, now));
    }

    /// Whether there was one within the last ten minutes.
    pub(crate) fn holds(&self, client: IpAddr, now: Timestamp) -> bool {
        let client = client.to_canonical();
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().any(|(other, at)| *other == client && now.since(*at) <= MEMORY)
    }
}

const MOST: usize = 1_024;
const MEMORY: Duration = Duration::from_secs(600);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_proved_for_ten_minutes_after_its_last_connection() {
        let at = |seconds| Timestamp::from_nanos(1).after(Duration::from_secs(seconds));
        let proved = ProvedAddresses::default();
        let [one, other] = [1, 2].map(|host| IpAddr::from([10, 0, 0, host]));
        assert!(!proved.holds(one, at(0)));
        proved.note("::ffff:10.0.0.1".parse().expect("an address"), at(0));
        assert!(proved.holds(one, at(600)) && !proved.holds(other, at(0)));
        assert!(!proved.holds(one, at(601)));
        proved.note(one, at(700));
        assert!(proved.holds(one, at(1_300)) && proved.0.lock().expect("no panic").len() == 1);
    }

    #[test]
    fn the_oldest_of_many_addresses_makes_room() {
        let (proved, now) = (ProvedAddresses::default(), Timestamp::from_nanos(1));
        let address = |host: usize| IpAddr::from((host as u128).to_be_bytes());
        (0..MOST).for_each(|host| proved.note(address(host), now));
        proved.note(address(0), now);
        proved.note(address(MOST), now);
        assert!(proved.holds(address(0), now) && !proved.holds(address(1), now));
        assert!((2..=MOST).all(|host| proved.holds(address(host), now)));
    }
}
