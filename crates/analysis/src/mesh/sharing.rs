//! Hosts that share a link: each is fine alone, and slow while another of them sends or receives too.

use std::collections::{BTreeMap, BTreeSet};

use super::estimate::Estimate;
use super::evidence::{
    ALONE, Evidence, NAMED_FROM, OfHosts, SETTLED, SURVEY, is_cleared, left_without_hosts,
};
use super::{HostId, Mesh, Sample, Stage};

/// Two hosts, the lower number first.
type Two = (HostId, HostId);

/// Each two hosts that may share a link, unless one of them is slow alone.
pub(super) fn candidates(mesh: &Mesh, estimate: &Estimate, evidence: &OfHosts) -> BTreeSet<Two> {
    let is_slow_alone = |host: HostId| {
        let of = &evidence.hosts[host as usize];
        [of.send, of.receive].iter().any(|one| one[ALONE].log_odds(evidence.by_chance) >= SETTLED)
    };
    let mut candidates: BTreeSet<_> = twos(&beside_others(mesh, evidence)).collect();
    if mesh.design.sample.is_none() {
        let slow = at_once(mesh, estimate, Stage::Survey).into_iter();
        candidates.extend(slow.filter(|(_, of)| is_mostly_slow(of)).map(|(two, _)| two));
    }
    candidates.retain(|(one, other)| !is_slow_alone(*one) && !is_slow_alone(*other));
    candidates
}

/// Hosts that are slow in the survey, but not alone.
fn beside_others(mesh: &Mesh, evidence: &OfHosts) -> Vec<HostId> {
    let only_beside_others = |one: &[Evidence; 2]| {
        is_cleared(one, evidence)
            && one[SURVEY].confidence(evidence.by_chance, evidence.candidates()) >= NAMED_FROM
    };
    let live = mesh.live().into_iter();
    let are = live.filter(|host| {
        let of = &evidence.hosts[*host as usize];
        [of.send, of.receive].iter().any(only_beside_others)
    });
    are.take(MOST_SHARING).collect()
}

fn twos(hosts: &[HostId]) -> impl Iterator<Item = Two> {
    let after = |at: usize| hosts.iter().skip(at + 1);
    hosts.iter().enumerate().flat_map(move |(at, one)| after(at).map(|other| (*one, *other)))
}

/// Evidence on each two hosts from the tests in which both sent at the same time, or both received:
/// slow where both were. On a link of two directions only such tests are in each other's way.
fn at_once(mesh: &Mesh, estimate: &Estimate, stage: Stage) -> BTreeMap<Two, Evidence> {
    let mut tests: BTreeMap<(u32, bool), Vec<&Sample>> = BTreeMap::new();
    for sample in mesh.samples.iter().filter(|sample| sample.stage == stage) {
        tests.entry((sample.round, sample.is_second)).or_default().push(sample);
    }
    let left = |sample: &Sample| left_without_hosts(mesh, estimate, sample);
    let mut evidence: BTreeMap<Two, Evidence> = BTreeMap::new();
    for at_once in tests.into_values() {
        for (at, one) in at_once.iter().enumerate() {
            for other in at_once.iter().skip(at + 1) {
                let both = left(one).max(left(other));
                let is_lossy = one.is_lossy && other.is_lossy;
                for (one, other) in [(one.from, other.from), (one.to, other.to)] {
                    let two = (one.min(other), one.max(other));
                    evidence.entry(two).or_default().count(both, is_lossy, estimate);
                }
            }
        }
    }
    evidence
}

/// Whether most tests at once are slow: not all are where more than two share a link, since two of
/// them do not use it in a test of each other.
fn is_mostly_slow(of: &Evidence) -> bool {
    of.slow >= LEAST_SLOW && of.slow * 2 > of.tests()
}

/// Hosts that are slow at once and not alone, as groups, with the evidence of the tests at once.
pub(super) fn groups(
    mesh: &Mesh,
    estimate: &Estimate,
    evidence: &OfHosts,
) -> Vec<(Vec<HostId>, Evidence)> {
    let candidates = candidates(mesh, estimate, evidence);
    let mut slow = at_once(mesh, estimate, Stage::Together);
    slow.retain(|two, of| candidates.contains(two) && is_mostly_slow(of));
    let survey = at_once(mesh, estimate, Stage::Survey);
    let all = |two: Two| {
        let of = [&slow, &survey].map(|of| of.get(&two).copied().unwrap_or_default());
        of[0].and(of[1])
    };
    let with_evidence = |hosts: Vec<HostId>| {
        let sum = twos(&hosts).map(all).fold(Evidence::default(), Evidence::and);
        (hosts, sum)
    };
    connected(slow.keys()).into_iter().map(with_evidence).collect()
}

/// Hosts that are connected by twos, in groups.
fn connected<'a>(twos: impl Iterator<Item = &'a Two>) -> Vec<Vec<HostId>> {
    let mut groups: Vec<BTreeSet<HostId>> = Vec::new();
    for (one, other) in twos {
        let mut joined = BTreeSet::from([*one, *other]);
        for group in groups.extract_if(.., |group| group.contains(one) || group.contains(other)) {
            joined.extend(group);
        }
        groups.push(joined);
    }
    groups.into_iter().map(|group| group.into_iter().collect()).collect()
}

/// Tests at once that were slow, from which on two hosts may share a link.
const LEAST_SLOW: u32 = 2;
/// Hosts that are slow beside others, of which each two are tested at once, at most: 28 twos.
const MOST_SHARING: usize = 8;
