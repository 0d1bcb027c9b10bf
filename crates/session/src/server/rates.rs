//! The rate that all tests of a server may have together, and those of a prefix: each test is
//! granted a part when it begins, and gives it back when it ends.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use measurement::BitRate;

use super::access::IpPrefix;

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

    /// Grants a test of `client` its part: what it `asked` for, but at most half of what the others
    /// leave of each limit, or all of it if no further test may run. None: no limit holds for it.
    pub(crate) fn grant(
        self: &Arc<Self>,
        client: IpAddr,
        asked: Option<BitRate>,
    ) -> Result<Option<Grant>, NothingLeft> {
        let mut granted = self.lock();
        let is_last = granted.tests.len() + 1 >= self.places;
        let limits = self.limits_of(client).map(|(of, most)| {
            let taken = granted.of(|address| of.is_none_or(|prefix| prefix.contains(address)));
            let left = most.bits_per_second().saturating_sub(taken);
            let part = if is_last { left } else { left / 2 };
            (part >= (most.bits_per_second() / LEAST_PART).max(1)).then_some(part)
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
    /// What is granted to the tests of the clients of which `is_meant` holds, in bit/s.
    fn of(&self, is_meant: impl Fn(IpAddr) -> bool) -> u64 {
        let meant = self.tests.values().filter(|(client, _)| is_meant(*client));
        meant.map(|(_, rate)| rate.bits_per_second()).sum()
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

    #[test]
    fn each_test_gets_half_of_what_the_others_leave_and_never_more_than_all() {
        let shares = shares(100, &[]);
        let mut held = Vec::new();
        while let Ok(grant) = shares.grant(client(1), None) {
            held.push(grant.expect("there is a limit"));
        }
        let rates: Vec<_> = held.iter().map(|grant| grant.rate().bits_per_second()).collect();
        assert_eq!(rates[..3], [ALL / 2, ALL / 4, ALL / 8]);
        assert!(rates.iter().sum::<u64>() <= ALL && rates.len() == 10, "{rates:?}");
        held.remove(0);
        assert!(shares.grant(client(2), None).is_ok(), "its part was given back");
    }

    #[test]
    fn the_last_place_gets_all_that_is_left_and_who_asks_for_less_gets_less() {
        let alone = shares(1, &[]);
        assert_eq!(granted(alone.grant(client(1), None).expect("left").as_ref()), Some(ALL));
        let two = shares(2, &[]);
        let first = two.grant(client(1), Some(rate(1_000_000))).expect("left");
        assert_eq!(granted(first.as_ref()), Some(1_000_000));
        let second = two.grant(client(2), None).expect("left");
        assert_eq!(granted(second.as_ref()), Some(ALL - 1_000_000));
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
