//! Hosts that share a link: each is fine alone, and slow while another of them sends or receives too.

use super::estimate::Estimate;
use super::evidence::{
    ALONE, Evidence, NAMED_FROM, OfHosts, SETTLED, SURVEY, is_cleared, left_without_hosts,
};
use super::{HostId, Mesh, Sample, Stage};
use measurement::Order;

/// Two hosts, the lower number first.
type Two = (HostId, HostId);

/// Each two hosts that may share a link, unless one of them is slow alone.
pub(super) fn candidates(mesh: &Mesh, estimate: &Estimate, evidence: &OfHosts) -> Vec<Two> {
    let is_slow_alone = |host: HostId| {
        let of = &evidence.hosts[host as usize];
        [of.send, of.receive].iter().any(|one| one[ALONE].log_odds(evidence.by_chance) >= SETTLED)
    };
    let mut candidates: Vec<_> = twos(&beside_others(mesh, evidence)).collect();
    if mesh.design.sample.is_none() {
        let slow = at_once(mesh, estimate, Stage::Survey).into_iter();
        candidates.extend(slow.filter(|(_, of)| is_mostly_slow(of)).map(|(two, _)| two));
    }
    candidates.retain(|(one, other)| !is_slow_alone(*one) && !is_slow_alone(*other));
    candidates.order();
    candidates.dedup();
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
fn at_once(mesh: &Mesh, estimate: &Estimate, stage: Stage) -> Vec<(Two, Evidence)> {
    let time = |sample: &&Sample| (sample.round, sample.is_second);
    let of_stage = |sample: &&Sample| sample.stage == stage;
    let mut samples: Vec<_> = mesh.samples.iter().filter(of_stage).collect();
    samples.order_by_key(time);
    let left = |sample: &Sample| left_without_hosts(mesh, estimate, sample);
    let mut all = Vec::new();
    for at_once in samples.chunk_by(|one, other| time(one) == time(other)) {
        for (at, one) in at_once.iter().enumerate() {
            for other in at_once.iter().skip(at + 1) {
                let both = left(one).max(left(other));
                let mut evidence = Evidence::default();
                evidence.count(both, one.is_lossy && other.is_lossy, estimate);
                for (one, other) in [(one.from, other.from), (one.to, other.to)] {
                    all.push(((one.min(other), one.max(other)), evidence));
                }
            }
        }
    }
    all.order_by_key(|(two, _)| *two);
    let of_two = |of: &[(Two, Evidence)]| {
        let sum = of.iter().fold(Evidence::default(), |sum, (_, one)| sum.and(*one));
        (of[0].0, sum)
    };
    all.chunk_by(|one, other| one.0 == other.0).map(of_two).collect()
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
    slow.retain(|(two, of)| candidates.contains(two) && is_mostly_slow(of));
    let survey = at_once(mesh, estimate, Stage::Survey);
    let all = |two: Two| {
        let both = slow.iter().chain(&survey).filter(|(of, _)| *of == two);
        both.fold(Evidence::default(), |sum, (_, one)| sum.and(*one))
    };
    let with_evidence = |hosts: Vec<HostId>| {
        let sum = twos(&hosts).map(all).fold(Evidence::default(), Evidence::and);
        (hosts, sum)
    };
    connected(slow.iter().map(|(two, _)| two)).into_iter().map(with_evidence).collect()
}

/// Hosts that are connected by twos, in groups.
fn connected<'a>(twos: impl Iterator<Item = &'a Two>) -> Vec<Vec<HostId>> {
    let mut groups: Vec<Vec<HostId>> = Vec::new();
    for (one, other) in twos {
        let is_of = |group: &mut Vec<HostId>| group.contains(one) || group.contains(other);
        let mut joined: Vec<_> = groups.extract_if(.., is_of).flatten().collect();
        joined.extend([*one, *other]);
        joined.order();
        joined.dedup();
        groups.push(joined);
    }
    groups
}

/// Tests at once that were slow, from which on two hosts may share a link.
const LEAST_SLOW: u32 = 2;
/// Hosts that are slow beside others, of which each two are tested at once, at most: 28 twos.
const MOST_SHARING: usize = 8;
