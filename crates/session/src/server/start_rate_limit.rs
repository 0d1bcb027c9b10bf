//! How many tests one client begins in a second.

use std::collections::HashMap;
use std::time::Duration;

use measurement::Timestamp;

use super::client_prefix::ClientPrefix;

/// For every client a bucket that holds as many tests as it may begin in a second, and
/// fills within one.
#[derive(Debug)]
pub(crate) struct StartRateLimit {
    most: u32,
    /// When the bucket will be full again.
    full_at: HashMap<ClientPrefix, Timestamp>,
}

impl StartRateLimit {
    pub(crate) fn new(most: u32) -> Self {
        Self { most: most.max(1), full_at: HashMap::new() }
    }

    /// Takes one test out of the bucket; whether there was one.
    pub(crate) fn admits(&mut self, client: ClientPrefix, now: Timestamp) -> bool {
        if self.full_at.len() >= MOST_CLIENTS {
            self.full_at.retain(|_, full_at| *full_at > now);
        }
        let one = SECOND / self.most;
        let full_at = self.full_at.get(&client).copied().unwrap_or_default().max(now);
        // A crowd of clients larger than all memory of them shares what is left.
        let known = self.full_at.len() < MOST_CLIENTS || self.full_at.contains_key(&client);
        let admitted = known && full_at.since(now) + one <= SECOND;
        if admitted {
            self.full_at.insert(client, full_at.after(one));
        }
        admitted
    }
}

const SECOND: Duration = Duration::from_secs(1);
/// Clients that begin a test within a second.
const MOST_CLIENTS: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_let_in_and_then_only_the_rate() {
        let client = ClientPrefix::containing("10.0.0.1".parse().expect("an address"));
        let other = ClientPrefix::containing("10.0.0.2".parse().expect("an address"));
        let mut start_rate = StartRateLimit::new(4);
        let at = |millis: u64| Timestamp::from_nanos(10_000_000_000 + millis * 1_000_000);
        let admitted: Vec<_> = (0..6).map(|_| start_rate.admits(client, at(0))).collect();
        assert_eq!(admitted, [true, true, true, true, false, false]);
        assert!(start_rate.admits(other, at(0)));
        assert!(!start_rate.admits(client, at(249)));
        assert!(start_rate.admits(client, at(250)));
        assert!(!start_rate.admits(client, at(251)));
    }

    #[test]
    fn memory_of_clients_has_a_limit() {
        let mut start_rate = StartRateLimit::new(1);
        let client = |n: u32| ClientPrefix::containing(std::net::Ipv4Addr::from(n).into());
        let now = Timestamp::from_nanos(1);
        let admitted = (0..20_000).filter(|n| start_rate.admits(client(*n), now)).count();
        assert_eq!(admitted, MOST_CLIENTS);
        assert!(start_rate.admits(client(30_000), now.after(SECOND)));
    }
}
