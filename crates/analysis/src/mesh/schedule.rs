//! Rounds: sets of pairs of which each host is in one at most, so that no test spoils another.

use measurement::IntoSet;
use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;

use super::{HostId, Pair, Topology};

/// All pairs of `hosts` hosts in rounds: a round-robin tournament by the circle method. An even
/// number of hosts takes a round less than there are hosts; of an odd number one rests in each.
pub fn tournament(hosts: u32) -> Vec<Vec<Pair>> {
    let seats = hosts + hosts % 2;
    (0..seats.saturating_sub(1)).map(|round| tournament_round(hosts, seats, round)).collect()
}

/// One seat stays, the others move on by one each round (Kirkman 1847).
fn tournament_round(hosts: u32, seats: u32, round: u32) -> Vec<Pair> {
    let moving = seats - 1;
    let first = std::iter::once((moving, round));
    let others = (1..seats / 2).map(|at| ((round + at) % moving, (round + moving - at) % moving));
    let seated = first.chain(others).filter(|(a, b)| *a < hosts && *b < hosts);
    // Who sends first changes, so that no host does so more than the others.
    seated
        .map(|(a, b)| if (a + b) % 2 == 0 { Pair { a, b } } else { Pair { a: b, b: a } })
        .collect()
}

/// Random rounds of all hosts: those of a tournament, in an order and with places that are drawn. No
/// pair comes again before all have been. Which hosts are lost changes nothing, so that a mesh that
/// goes on has the same pairs.
#[derive(Debug)]
pub(super) struct Matchings {
    rng: Rng,
    places: Vec<HostId>,
    rounds: Vec<u32>,
}

impl Matchings {
    pub(super) fn new(hosts: u32, seed: u64) -> Self {
        Self { rng: Rng::with_seed(seed), places: (0..hosts).collect(), rounds: Vec::new() }
    }

    /// The next round: each host is in one pair, of an odd number one rests.
    pub(super) fn draw(&mut self) -> Vec<Pair> {
        let hosts = u32::try_from(self.places.len()).unwrap_or(u32::MAX);
        let seats = hosts + hosts % 2;
        if self.rounds.is_empty() {
            self.rng.shuffle(&mut self.places);
            self.rounds = (0..seats.saturating_sub(1)).collect();
            self.rng.shuffle(&mut self.rounds);
        }
        let Some(round) = self.rounds.pop() else { return Vec::new() };
        let host = |place: HostId| self.places[place as usize];
        let pairs = tournament_round(hosts, seats, round).into_iter();
        pairs.map(|pair| Pair { a: host(pair.a), b: host(pair.b) }).collect()
    }
}

/// A random round with all pairs between one half of the switches and the other, so that the hosts of
/// a switch send at the same time. Hosts that are too many on one side rest.
pub(super) fn across(hosts: &[HostId], topology: &Topology, rng: &mut Rng) -> Vec<Pair> {
    let mut below: BTreeMap<_, Vec<HostId>> = BTreeMap::new();
    for host in hosts {
        below.entry(topology.switch_of(*host)).or_default().push(*host);
    }
    let mut switches: Vec<_> = below.into_values().collect();
    rng.shuffle(&mut switches);
    let (mut one, mut other) = (Vec::new(), Vec::new());
    for hosts in switches {
        if one.len() <= other.len() { one.extend(hosts) } else { other.extend(hosts) }
    }
    rng.shuffle(&mut one);
    rng.shuffle(&mut other);
    one.into_iter().zip(other).map(|(a, b)| Pair { a, b }).collect()
}

/// The `pairs` of a round, with those of it that use a link which one of them uses. Without a topology
/// that is the whole round.
pub(super) fn beside(
    round: super::Round,
    pairs: &[Pair],
    topology: Option<&Topology>,
) -> Vec<Pair> {
    let Some(topology) = topology else { return round.pairs };
    let links = |pair: &Pair| {
        let (up, down) = topology.links(pair.a, pair.b);
        up.into_iter().chain(down)
    };
    let used: BTreeSet<_> = pairs.iter().flat_map(links).into_set();
    let wanted: BTreeSet<_> = pairs.iter().copied().into_set();
    let mut beside = round.pairs;
    if round.stage == super::Stage::Load {
        beside.retain(|pair| wanted.contains(pair) || links(pair).any(|link| used.contains(&link)));
    }
    beside
}

/// Splits rounds so that each host and, with a topology, each uplink is in one test at a time.
pub(super) fn split(pairs: Vec<Pair>, topology: Option<&Topology>) -> Vec<Vec<Pair>> {
    split_apart(pairs, topology, &[])
}

/// Splits rounds as [`split`] does, and so that of each two hosts in `apart` one rests while the other
/// is in a test, unless they are a pair.
pub(super) fn split_apart(
    pairs: Vec<Pair>,
    topology: Option<&Topology>,
    apart: &[(HostId, HostId)],
) -> Vec<Vec<Pair>> {
    let mut rounds: Vec<Round> = Vec::new();
    for pair in pairs {
        let mut needs = Needs::of(pair, topology);
        let is_of = |host: HostId| [pair.a, pair.b].contains(&host);
        for (one, other) in apart {
            needs.apart.extend(is_of(*one).then_some(*other));
            needs.apart.extend(is_of(*other).then_some(*one));
        }
        let free = rounds.iter().position(|round| round.is_free(&needs));
        let place = free.unwrap_or(rounds.len());
        if free.is_none() {
            rounds.push(Round::default());
        }
        rounds[place].take(pair, &needs);
    }
    rounds.into_iter().map(|round| round.pairs).collect()
}

/// What a test occupies.
struct Needs {
    hosts: [HostId; 2],
    links: Vec<u32>,
    /// Hosts that are in no other test at that time.
    apart: Vec<HostId>,
}

impl Needs {
    fn of(pair: Pair, topology: Option<&Topology>) -> Self {
        let links = topology.map(|topology| topology.links(pair.a, pair.b)).unwrap_or_default();
        Self { hosts: [pair.a, pair.b], links: [links.0, links.1].concat(), apart: Vec::new() }
    }
}

#[derive(Default)]
struct Round {
    pairs: Vec<Pair>,
    hosts: Marks,
    links: Marks,
}

impl Round {
    fn is_free(&self, needs: &Needs) -> bool {
        let free = |marks: &Marks, ids: &[u32]| ids.iter().all(|id| !marks.has(*id));
        free(&self.hosts, &needs.hosts)
            && free(&self.hosts, &needs.apart)
            && free(&self.links, &needs.links)
    }

    fn take(&mut self, pair: Pair, needs: &Needs) {
        needs.hosts.iter().for_each(|host| self.hosts.set(*host));
        needs.links.iter().for_each(|link| self.links.set(*link));
        self.pairs.push(pair);
    }
}

/// A set of small numbers.
#[derive(Default)]
struct Marks(Vec<u64>);

impl Marks {
    fn has(&self, id: u32) -> bool {
        self.0.get(id as usize / 64).is_some_and(|word| word >> (id % 64) & 1 == 1)
    }

    fn set(&mut self, id: u32) {
        let at = id as usize / 64;
        if self.0.len() <= at {
            self.0.resize(at + 1, 0);
        }
        self.0[at] |= 1 << (id % 64);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn assert_each_host_once(round: &[Pair]) {
        let mut seen = HashSet::new();
        assert!(round.iter().all(|pair| seen.insert(pair.a) && seen.insert(pair.b)), "{round:?}");
    }

    #[test]
    fn a_tournament_has_every_pair_once_and_each_host_once_a_round() {
        for hosts in 0..=33 {
            let rounds = tournament(hosts);
            let expected = if hosts < 2 { 0 } else { hosts - 1 + hosts % 2 };
            assert_eq!(rounds.iter().filter(|round| !round.is_empty()).count(), expected as usize);
            for round in &rounds {
                assert_each_host_once(round);
            }
            let pairs =
                rounds.iter().flatten().map(|pair| (pair.a.min(pair.b), pair.a.max(pair.b)));
            let all: HashSet<_> = pairs.clone().collect();
            assert_eq!(all.len(), pairs.count());
            assert_eq!(all.len(), (hosts * hosts.saturating_sub(1) / 2) as usize);
        }
    }

    #[test]
    fn random_rounds_have_every_pair_once_before_one_comes_again() {
        for hosts in [0, 1, 2, 9, 64] {
            let mut matchings = Matchings::new(hosts, 3);
            let rounds: Vec<_> = tournament(hosts).iter().map(|_| matchings.draw()).collect();
            for round in &rounds {
                assert_each_host_once(round);
            }
            let pairs = rounds.iter().flatten();
            let all: HashSet<_> =
                pairs.map(|pair| (pair.a.min(pair.b), pair.a.max(pair.b))).collect();
            assert_eq!(all.len(), rounds.iter().flatten().count());
            assert_eq!(all.len(), (hosts * hosts.saturating_sub(1) / 2) as usize);
        }
    }

    #[test]
    fn no_two_tests_of_a_round_share_an_uplink() {
        let topology = Topology::leaves(32, 8);
        for round in tournament(32) {
            let count = round.len();
            let split = split(round, Some(&topology));
            assert_eq!(split.iter().map(Vec::len).sum::<usize>(), count);
            for part in split {
                assert_each_host_once(&part);
                let links = part.iter().flat_map(|pair| {
                    let (from, to) = topology.links(pair.a, pair.b);
                    from.into_iter().chain(to)
                });
                let mut seen = HashSet::new();
                assert!({ links }.all(|link| seen.insert(link)));
            }
        }
    }

    #[test]
    fn a_round_across_leaves_no_pair_below_one_switch() {
        let topology = Topology::leaves(24, 4);
        let hosts: Vec<_> = (0..24).collect();
        let round = across(&hosts, &topology, &mut Rng::with_seed(7));
        assert_eq!(round.len(), 12);
        assert_each_host_once(&round);
        assert!(round.iter().all(|pair| topology.is_across(pair.a, pair.b)));
    }
}
