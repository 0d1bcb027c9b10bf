//! The rate that all tests of a server may have together, and those of a prefix: each test is
//! granted a part when it begins, and gives it back when it ends.
//!
//! A test that runs keeps its part, so that some of the rate is held back for addresses that come
//! later. Addresses that test again and again come to have equal parts, but for those that ask for
//! less (dynamic thresholds, as switches share a buffer, and max-min fair).

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use measurement::BitRate;

use super::access::IpPrefix;
use super::client_prefix::ClientPrefix;

/// Limits on the rate of all tests of a server together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TotalRates {
    /// Rate of all tests together; none: no limit.
    pub total: Option<BitRate>,
    /// Rates of all tests together whose clients are in a prefix. An address in several of them
    /// takes its part of each.
    pub by_prefix: Vec<(IpPrefix, BitRate)>,
}

/// What is granted of [`TotalRates`] to the tests that run.
#[derive(Debug)]
pub(crate) struct RateShares {
    most: TotalRates,
    /// Tests that may run at the same time.
    places: usize,
    granted: Mutex<Granted>,
}

#[derive(Debug, Default)]
struct Granted {
    next: u64,
    tests: BTreeMap<u64, (IpAddr, BitRate)>,
}

/// What is granted under one limit, in bit/s.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    /// To the address of the client that asks.
    own: u64,
    others: u64,
}

/// The part of one test, given back when dropped.
#[derive(Debug)]
pub(crate) struct Grant {
    shares: Arc<RateShares>,
    number: u64,
    rate: BitRate,
}

/// All of the rate is granted to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NothingLeft;

impl RateShares {
    /// The shares of a server that runs up to `places` tests at the same time.
    pub(crate) fn new(most: TotalRates, places: usize) -> Self {
        Self { most, places, granted: Mutex::default() }
    }

    /// Whether no limit holds for any client.
    pub(crate) fn is_unlimited(&self) -> bool {
        self.most.total.is_none() && self.most.by_prefix.is_empty()
    }

    /// Grants a test of `client` its part: what it `asked` for, but no more than its address may
    /// have of each limit. None: no limit holds for it.
    pub(crate) fn grant(
        self: &Arc<Self>,
        client: IpAddr,
        asked: Option<BitRate>,
    ) -> Result<Option<Grant>, NothingLeft> {
        let mut granted = self.lock();
        let is_last = granted.tests.len() + 1 >= self.places;
        let limits = self.limits_of(client).map(|(of, most)| {
            let most = most.bits_per_second();
            let taken = granted.under(of, client);
            let fair = taken.part(most);
            let share = most / u64::try_from(self.places.max(1)).unwrap_or(u64::MAX);
            let part = if is_last { taken.left(most).min(fair.max(share)) } else { fair };
            (part >= (most / LEAST_PART).max(1)).then_some(part)
        });
        let parts: Option<Vec<u64>> = limits.collect();
        let Some(part) = parts.ok_or(NothingLeft)?.into_iter().min() else { return Ok(None) };
        let rate = BitRate::from_bits_per_second(part);
        let rate = asked.map_or(rate, |asked| asked.min(rate));
        let number = granted.next;
        granted.next += 1;
        granted.tests.insert(number, (client, rate));
        drop(granted);
        Ok(Some(Grant { shares: Arc::clone(self), number, rate }))
    }

    /// The limits that hold for a client: that of all, and those of its prefixes.
    fn limits_of(&self, client: IpAddr) -> impl Iterator<Item = (Option<IpPrefix>, BitRate)> {
        let of_all = self.most.total.map(|most| (None, most)).into_iter();
        let by_prefix = self.most.by_prefix.iter();
        let own = by_prefix.filter(move |(prefix, _)| prefix.contains(client));
        of_all.chain(own.map(|(prefix, most)| (Some(*prefix), *most)))
    }

    fn lock(&self) -> MutexGuard<'_, Granted> {
        self.granted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Granted {
    /// What is granted under the limit of that prefix (none: of all) to the address of `client`,
    /// and to others.
    fn under(&self, of: Option<IpPrefix>, client: IpAddr) -> Taken {
        let own = ClientPrefix::containing(client);
        let mut taken = Taken::default();
        for (address, rate) in self.tests.values() {
            if of.is_none_or(|prefix| prefix.contains(*address)) {
                let is_own = ClientPrefix::containing(*address) == own;
                let side = if is_own { &mut taken.own } else { &mut taken.others };
                *side = side.saturating_add(rate.bits_per_second());
            }
        }
        taken
    }
}

impl Taken {
    const fn left(self, most: u64) -> u64 {
        most.saturating_sub(self.others).saturating_sub(self.own)
    }

    /// What the next test of the address may have: the first one half of what others leave, and
    /// each further one half of what its address may have besides.
    const fn part(self, most: u64) -> u64 {
        match self.own {
            0 => self.left(most) / 2,
            own => self.of_address(most).saturating_sub(own) / 2,
        }
    }

    /// What the address may have: as much as it leaves to those that come later or, while there
    /// are no others, three quarters.
    const fn of_address(self, most: u64) -> u64 {
        match self.others {
            0 => most - most / 4,
            others => most.saturating_sub(others) / 2,
        }
    }
}

impl Grant {
    /// The rate of all streams of the test together.
    pub(crate) const fn rate(&self) -> BitRate {
        self.rate
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        self.shares.lock().tests.remove(&self.number);
    }
}

/// A test that would get less than this part of a limit is refused.
const LEAST_PART: u64 = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: u64 = 8_000_000;

    fn rate(bits: u64) -> BitRate {
        BitRate::from_bits_per_second(bits)
    }

    fn shares(places: usize, prefixes: &[(&str, u64)]) -> Arc<RateShares> {
        let by_prefix = prefixes.iter().map(|(text, most)| {
            let prefix: IpPrefix = text.parse().expect("a prefix");
            (prefix, rate(*most))
        });
        let most = TotalRates { total: Some(rate(ALL)), by_prefix: by_prefix.collect() };
        Arc::new(RateShares::new(most, places))
    }

    fn client(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    fn granted(grant: Option<&Grant>) -> Option<u64> {
        grant.map(|grant| grant.rate().bits_per_second())
    }

    /// Tests of one address, until it gets no more; their rates.
    fn all_of(shares: &Arc<RateShares>, client: IpAddr, held: &mut Vec<Grant>) -> Vec<u64> {
        let mut rates = Vec::new();
        while let Ok(grant) = shares.grant(client, None) {
            rates.extend(granted(grant.as_ref()));
            held.extend(grant);
        }
        rates
    }

    #[test]
    fn one_address_leaves_a_quarter_to_others_however_many_tests_it_begins() {
        let shares = shares(256, &[]);
        let mut held = Vec::new();
        let rates = all_of(&shares, client(1), &mut held);
        assert_eq!(rates[..3], [ALL / 2, ALL / 8, ALL / 16]);
        let first: u64 = rates.iter().sum();
        assert!(first <= ALL / 4 * 3, "{rates:?}");
        let second: u64 = all_of(&shares, client(2), &mut held).iter().sum();
        assert!((ALL / 8..=ALL / 7).contains(&second), "{second}");
        held.clear();
        assert!(granted(shares.grant(client(2), None).expect("left").as_ref()) == Some(ALL / 2));
    }

    #[test]
    fn addresses_that_test_again_and_again_come_to_have_equal_parts() {
        let shares = shares(256, &[]);
        let v6 = |host: u16| IpAddr::from([0x2001, 0xdb8, 0, 7, 0, 0, 0, host]);
        let mut first = Vec::new();
        all_of(&shares, v6(1), &mut first);
        let mut second = shares.grant(client(2), None).expect("left");
        for host in 2..20 {
            // Of its /64 it takes another address each time, and all that it gets.
            first.clear();
            all_of(&shares, v6(host), &mut first);
            drop(second.take());
            second = shares.grant(client(2), None).expect("left");
        }
        let of_first: u64 = first.iter().map(|grant| grant.rate().bits_per_second()).sum();
        let of_second = granted(second.as_ref()).expect("a limit");
        assert!(of_first.abs_diff(ALL / 3) < ALL / 100, "{of_first}");
        assert!(of_second.abs_diff(ALL / 3) < ALL / 100, "{of_second}");
    }

    #[test]
    fn who_asks_for_less_leaves_the_rest_to_others() {
        let shares = shares(256, &[]);
        let modest = shares.grant(client(1), Some(rate(1_000))).expect("left");
        assert_eq!(granted(modest.as_ref()), Some(1_000));
        let other = shares.grant(client(2), None).expect("left");
        assert_eq!(granted(other.as_ref()), Some((ALL - 1_000) / 2));
    }

    #[test]
    fn the_last_place_gets_its_part_of_all_and_a_single_place_all() {
        let alone = shares(1, &[]);
        assert_eq!(granted(alone.grant(client(1), None).expect("left").as_ref()), Some(ALL));
        let two = shares(2, &[]);
        let first = two.grant(client(1), None).expect("left");
        assert_eq!(granted(first.as_ref()), Some(ALL / 2));
        let second = two.grant(client(2), None).expect("left");
        assert_eq!(granted(second.as_ref()), Some(ALL / 2));
        drop((first, second));
        let modest = two.grant(client(1), Some(rate(ALL / 100))).expect("left");
        let second = two.grant(client(1), None).expect("left");
        assert_eq!(granted(second.as_ref()), Some(ALL / 2));
        drop(modest);
        let other = two.grant(client(2), None).expect("left");
        assert_eq!(granted(other.as_ref()), Some(ALL / 2), "one address has not all of it");
    }

    #[test]
    fn a_prefix_has_a_rate_of_its_own_and_others_are_not_held_to_it() {
        let shares = shares(100, &[("10.0.0.1/32", 1_000_000)]);
        let one = shares.grant(client(1), None).expect("left");
        assert_eq!(granted(one.as_ref()), Some(500_000));
        let other = shares.grant(client(2), None).expect("left");
        assert_eq!(granted(other.as_ref()), Some((ALL - 500_000) / 2));
        let none = Arc::new(RateShares::new(TotalRates::default(), 100));
        assert!(none.grant(client(1), None).expect("no limit").is_none());
    }
}
