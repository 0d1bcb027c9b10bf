//! Tests of suspects again: alone, which tells a slow host from a shared link, and beside each other,
//! which tells who shares one.

use std::collections::HashMap;

use super::estimate::Estimate;
use super::evidence::{ALONE, Evidence, NAMED_FROM, OfHosts, SURVEY, left_without_hosts};
use super::{HostId, Mesh, Pair, Stage, Topology, schedule};

/// Rounds that test each undecided suspect with a host that is none. Empty: all is decided.
pub(super) fn alone(mesh: &mut Mesh) -> Vec<Vec<Pair>> {
    let estimate = Estimate::of(mesh);
    let evidence = OfHosts::of(mesh, &estimate);
    let mut references = References::of(mesh, &evidence);
    let undecided = mesh.live().into_iter().filter(|host| is_undecided(&evidence, *host));
    let undecided: Vec<_> = undecided.take(MOST_SUSPECTS).collect();
    let with_reference =
        undecided.iter().filter_map(|host| Some(Pair { a: *host, b: references.next(*host)? }));
    let mut pairs: Vec<_> = with_reference.collect();
    if mesh.design.sample.is_none() {
        pairs.extend(undecided_paths(mesh, &estimate, &evidence));
    }
    mesh.rng.shuffle(&mut pairs);
    spread(&pairs, mesh.design.topology.as_ref())
}

/// Pairs in rounds that spoil no test. Without a topology nobody knows who shares a link: few are
/// tested at a time.
pub(super) fn spread(pairs: &[Pair], topology: Option<&Topology>) -> Vec<Vec<Pair>> {
    let at_once = if topology.is_some() { pairs.len() } else { pairs.len().div_ceil(8) };
    let chunks = pairs.chunks(at_once.max(1)).map(<[Pair]>::to_vec);
    chunks.flat_map(|chunk| schedule::split(chunk, topology)).collect()
}

/// Hosts that are not suspects, in turn.
struct References {
    hosts: Vec<HostId>,
    next: usize,
}

impl References {
    fn of(mesh: &mut Mesh, evidence: &OfHosts) -> Self {
        let mut hosts = mesh.live();
        hosts.retain(|host| !evidence.is_suspect(*host));
        mesh.rng.shuffle(&mut hosts);
        Self { hosts, next: 0 }
    }

    fn next(&mut self, of: HostId) -> Option<HostId> {
        self.next += 1;
        let at = |place: usize| self.hosts.get(place % self.hosts.len().max(1)).copied();
        at(self.next).filter(|host| *host != of).or_else(|| at(self.next + 1))
    }
}

fn is_undecided(evidence: &OfHosts, host: HostId) -> bool {
    let of = &evidence.hosts[host as usize];
    [of.send, of.receive].into_iter().any(|one| {
        if Evidence::of_all(one).log_odds(evidence.by_chance) <= 0.0 {
            return false;
        }
        one[ALONE].tests() < LEAST_ALONE || {
            one[ALONE].log_odds(evidence.by_chance) > 0.0
                && Evidence::of_all(one).confidence(evidence.by_chance, evidence.candidates())
                    < NAMED_FROM
        }
    })
}

/// Whether one direction of a host is slow in the survey, but not when it is tested alone.
pub(super) fn only_beside_others(evidence: &OfHosts, one: [Evidence; 2]) -> bool {
    let alone = one[ALONE];
    alone.tests() >= LEAST_ALONE
        && alone.log_odds(evidence.by_chance) <= 0.0
        && one[SURVEY].confidence(evidence.by_chance, evidence.candidates()) >= NAMED_FROM
}

/// Evidence on the directed pairs of which a test was slow, neither host of which is a suspect.
pub(super) fn paths(
    mesh: &Mesh,
    estimate: &Estimate,
    evidence: &OfHosts,
) -> Vec<((HostId, HostId), Evidence)> {
    let mut of: HashMap<(HostId, HostId), Evidence> = HashMap::new();
    let suspects: Vec<_> = (0..mesh.design.hosts).map(|host| evidence.is_suspect(host)).collect();
    let tests = |sample: &&super::Sample| matches!(sample.stage, Stage::Survey | Stage::Alone);
    for sample in mesh.samples.iter().filter(tests) {
        if !suspects[sample.from as usize] && !suspects[sample.to as usize] {
            let left = left_without_hosts(mesh, estimate, sample);
            of.entry((sample.from, sample.to)).or_default().count(left, sample.is_lossy, estimate);
        }
    }
    let mut slow: Vec<_> = of.into_iter().filter(|(_, of)| of.slow > 0).collect();
    slow.sort_unstable_by_key(|(pair, _)| *pair);
    slow
}

fn undecided_paths(mesh: &Mesh, estimate: &Estimate, evidence: &OfHosts) -> Vec<Pair> {
    let candidates = mesh.samples.len();
    let undecided = paths(mesh, estimate, evidence).into_iter().filter(|(_, of)| {
        let is_likely = of.log_odds(evidence.by_chance) > 0.0;
        is_likely && of.confidence(evidence.by_chance, candidates) < NAMED_FROM
    });
    let mut pairs: Vec<_> =
        undecided.map(|((from, to), _)| Pair { a: from.min(to), b: from.max(to) }).collect();
    pairs.dedup();
    pairs.truncate(MOST_PATHS);
    pairs
}

/// Hosts that are slow only beside others.
pub(super) fn sharing(mesh: &Mesh, evidence: &OfHosts) -> Vec<HostId> {
    let live = mesh.live().into_iter();
    let shares = live.filter(|host| {
        let of = &evidence.hosts[*host as usize];
        [of.send, of.receive].into_iter().any(|one| only_beside_others(evidence, one))
    });
    shares.collect()
}

/// Rounds in which two hosts that are slow beside others are tested at once, for each two of them.
pub(super) fn together(mesh: &mut Mesh) -> Vec<Vec<Pair>> {
    let estimate = Estimate::of(mesh);
    let evidence = OfHosts::of(mesh, &estimate);
    let mut sharing = sharing(mesh, &evidence);
    sharing.truncate(MOST_SHARING);
    let mut references = References::of(mesh, &evidence);
    if references.hosts.len() < 2 {
        return Vec::new();
    }
    let mut rounds = Vec::new();
    for _ in 0..LEAST_ALONE {
        for (at, one) in sharing.iter().enumerate() {
            for other in sharing.iter().skip(at + 1) {
                let with = (references.next(*one), references.next(*other));
                if let (Some(first), Some(second)) = with {
                    rounds.push(vec![Pair { a: *one, b: first }, Pair { a: *other, b: second }]);
                }
            }
        }
    }
    rounds
}

/// Tests alone that tell a slow host from a shared link.
pub(super) const LEAST_ALONE: u32 = 2;
/// Suspects that are tested again at most, of many thousand hosts.
const MOST_SUSPECTS: usize = 500;
/// Pairs that are tested again at most.
const MOST_PATHS: usize = 16;
/// Hosts that are tested beside each other at most: 28 pairs.
const MOST_SHARING: usize = 8;
