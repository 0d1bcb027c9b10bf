//! How much of a server its clients have, and how much more one may take.
//!
//! Nobody takes the last of anything: a client may have so many times what it leaves to others,
//! and so may a network of clients. Whoever comes later finds something, in whatever order and
//! with however much the others came (dynamic thresholds, as switches share a buffer).

use std::collections::HashMap;
use std::hash::Hash;

use super::client_prefix::{ClientNetwork, ClientOrigin, ClientPrefix};
use super::cost::Cost;
use super::metrics::Refusal;
use super::test_class::TestClass;

/// What all tests have taken, and each client and network of it.
#[derive(Debug)]
pub(crate) struct Shares {
    /// All that there is.
    most: Cost,
    taken: Cost,
    of_client: HashMap<ClientPrefix, Share>,
    of_network: HashMap<ClientNetwork, Share>,
}

/// What one client or network has of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) tests: usize,
    pub(crate) probes: usize,
    taken: Cost,
}

/// What there is too little of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lack {
    /// The client has its share of it.
    OfShare(Refusal),
    /// All together have taken it.
    OfAll(Refusal),
}

impl Share {
    /// How many tests of that class.
    pub(crate) const fn count(&self, class: TestClass) -> usize {
        match class {
            TestClass::Regular => self.tests,
            TestClass::Probe => self.probes,
        }
    }

    const fn count_mut(&mut self, class: TestClass) -> &mut usize {
        match class {
            TestClass::Regular => &mut self.tests,
            TestClass::Probe => &mut self.probes,
        }
    }
}

impl Shares {
    pub(crate) fn new(most: Cost) -> Self {
        let (of_client, of_network) = (HashMap::new(), HashMap::new());
        Self { most, taken: Cost::default(), of_client, of_network }
    }

    /// What one client may have if it is alone, all its tests together.
    pub(crate) const fn part(&self) -> Cost {
        self.most.of_one_client()
    }

    pub(crate) fn of_client(&self, client: ClientOrigin) -> Share {
        self.of_client.get(&client.prefix).copied().unwrap_or_default()
    }

    pub(crate) fn of_network(&self, client: ClientOrigin) -> Share {
        self.of_network.get(&client.network).copied().unwrap_or_default()
    }

    /// What keeps `client` from taking `more`.
    pub(crate) fn lack(&self, client: ClientOrigin, more: Cost) -> Option<Lack> {
        let taken = self.taken.plus(more);
        if let Some(why) = taken.excess(self.most) {
            return Some(Lack::OfAll(why));
        }
        let left = self.most.minus(taken);
        let own = self.of_client(client).taken.plus(more);
        if let Some(why) = own.excess(left.beside_what_is_left()) {
            return Some(Lack::OfShare(why));
        }
        // Who has little is not to suffer from its neighbours.
        let little = Cost {
            memory: self.most.memory / LITTLE,
            descriptors: self.most.descriptors / LITTLE,
            threads: self.most.threads / LITTLE,
        };
        own.excess(little)?;
        let neighbours = self.of_network(client).taken.plus(more);
        neighbours.excess(left.times(OF_A_NETWORK)).map(Lack::OfShare)
    }

    /// A test of `client` has come, and takes `cost` for now.
    pub(crate) fn enter(&mut self, client: ClientOrigin, class: TestClass, cost: Cost) {
        *self.of_client.entry(client.prefix).or_default().count_mut(class) += 1;
        *self.of_network.entry(client.network).or_default().count_mut(class) += 1;
        self.take(client, cost);
    }

    /// A test of `client` takes `more`.
    pub(crate) fn take(&mut self, client: ClientOrigin, more: Cost) {
        self.taken = self.taken.plus(more);
        let own = self.of_client.entry(client.prefix).or_default();
        own.taken = own.taken.plus(more);
        let all = self.of_network.entry(client.network).or_default();
        all.taken = all.taken.plus(more);
    }

    /// A test of `client` that had taken `cost` has gone.
    pub(crate) fn leave(&mut self, client: ClientOrigin, class: TestClass, cost: Cost) {
        self.taken = self.taken.minus(cost);
        give_back(&mut self.of_client, &client.prefix, class, cost);
        give_back(&mut self.of_network, &client.network, class, cost);
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.taken == Cost::default() && self.of_client.is_empty() && self.of_network.is_empty()
    }
}

fn give_back<K: Hash + Eq>(of: &mut HashMap<K, Share>, key: &K, class: TestClass, cost: Cost) {
    let Some(share) = of.get_mut(key) else { return };
    let count = share.count_mut(class);
    *count = count.saturating_sub(1);
    share.taken = share.taken.minus(cost);
    if share.tests == 0 && share.probes == 0 {
        of.remove(key);
    }
}

/// A network has no more than so many times what it leaves to others: seven eighths.
const OF_A_NETWORK: u64 = 7;
/// A client that has no more than one of so many parts is not held to what its network has.
const LITTLE: u64 = 256;

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const MOST: Cost = Cost { memory: 1 << 30, descriptors: 61_376, threads: 10_000 };

    fn client(network: u8, last: u8) -> ClientOrigin {
        ClientOrigin::of(Ipv4Addr::new(10, 0, network, last).into())
    }

    /// Takes as many open files as it gets, in steps of one stream.
    fn fill(shares: &mut Shares, client: ClientOrigin) -> u64 {
        let stream = Cost { memory: 1, descriptors: 1, threads: 0 };
        let mut count = 0;
        while shares.lack(client, stream).is_none() {
            shares.take(client, stream);
            count += 1;
        }
        count
    }

    #[test]
    fn whoever_comes_later_finds_something() {
        let mut shares = Shares::new(MOST);
        let taken: Vec<_> = (1..=4).map(|network| fill(&mut shares, client(network, 1))).collect();
        assert_eq!(taken, [46_032, 11_508, 2_877, 719]);
        assert!(fill(&mut shares, client(5, 1)) > 100);
    }

    #[test]
    fn neighbours_have_a_share_together_but_who_has_little_is_served() {
        let mut shares = Shares::new(MOST);
        let taken: u64 = (1..=9).map(|last| fill(&mut shares, client(1, last))).sum();
        assert!(taken > MOST.descriptors / 8 * 7 - 8, "{taken}");
        assert!(taken < MOST.descriptors / 8 * 7 + 9 * MOST.descriptors / LITTLE, "{taken}");
        let few = Cost { descriptors: 20, ..Cost::default() };
        assert_eq!(shares.lack(client(1, 99), few), None);
        assert_eq!(shares.lack(client(2, 1), few.times(100)), None);
    }

    #[test]
    fn what_is_given_back_is_forgotten() {
        let mut shares = Shares::new(MOST);
        let cost = Cost { memory: 5, descriptors: 5, threads: 5 };
        shares.enter(client(1, 1), TestClass::Regular, cost);
        shares.enter(client(1, 1), TestClass::Probe, cost);
        assert_eq!(shares.of_client(client(1, 1)).count(TestClass::Probe), 1);
        shares.take(client(1, 1), cost);
        shares.leave(client(1, 1), TestClass::Regular, cost.times(2));
        shares.leave(client(1, 1), TestClass::Probe, cost);
        assert!(shares.is_empty());
    }
}
