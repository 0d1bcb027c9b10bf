//! Tests of suspects again: alone, which tells a slow host from a shared link, and two at once, which
//! tells who shares one.

use std::collections::HashMap;

use super::estimate::Estimate;
use super::evidence::{
    ALONE, Evidence, LEAST_ALONE, NAMED_FROM, OfHosts, SETTLED, left_without_hosts,
};
use super::{HostId, Mesh, Pair, Stage, Topology, schedule, sharing};
use measurement::Order;

/// Rounds that test each undecided suspect with a host that is none. Empty: all is decided.
pub(super) fn alone(mesh: &mut Mesh) -> Vec<Vec<Pair>> {
    let estimate = Estimate::of(mesh);
    let evidence = OfHosts::of(mesh, &estimate);
    let twos = sharing::candidates(mesh, &estimate, &evidence);
    let may_share: Vec<_> = twos.iter().flat_map(|(one, other)| [*one, *other]).collect();
    let mut references = References::of(mesh, &evidence, &may_share);
    let is_undecided = |host: &HostId| is_undecided(&evidence, *host, may_share.contains(host));
    let undecided = mesh.live().into_iter().filter(is_undecided);
    let undecided: Vec<_> = undecided.take(MOST_SUSPECTS).collect();
    let with_reference =
        undecided.iter().filter_map(|host| Some(Pair { a: *host, b: references.next(&[*host])? }));
    let mut pairs: Vec<_> = with_reference.collect();
    if mesh.design.sample.is_none() {
        pairs.extend(undecided_paths(mesh, &estimate, &evidence));
    }
    mesh.rng.shuffle(&mut pairs);
    spread(&pairs, mesh.design.topology.as_ref(), &twos)
}

/// Such pairs again that were tested alone.
pub(super) fn again(mesh: &Mesh, pairs: &[Pair]) -> Vec<Vec<Pair>> {
    let estimate = Estimate::of(mesh);
    let apart = sharing::candidates(mesh, &estimate, &OfHosts::of(mesh, &estimate));
    spread(pairs, mesh.design.topology.as_ref(), &apart)
}

/// Rounds in which two hosts that may share a link send at once, and then receive, each with a host of
/// its own.
pub(super) fn together(mesh: &mut Mesh) -> Vec<Vec<Pair>> {
    let estimate = Estimate::of(mesh);
    let evidence = OfHosts::of(mesh, &estimate);
    let candidates: Vec<_> =
        sharing::candidates(mesh, &estimate, &evidence).into_iter().take(MOST_CANDIDATES).collect();
    let sharing: Vec<_> = candidates.iter().flat_map(|(one, other)| [*one, *other]).collect();
    let mut references = References::of(mesh, &evidence, &sharing);
    let mut rounds = Vec::new();
    for (one, other) in candidates.repeat(LEAST_ALONE as usize) {
        let with = (references.next(&[one, other]), references.next(&[one, other]));
        if let (Some(first), Some(second)) = with
            && first != second
        {
            rounds.push(vec![Pair { a: one, b: first }, Pair { a: other, b: second }]);
        }
    }
    rounds
}

/// Pairs in rounds that spoil no test: hosts that may share a link are apart. Without a topology nobody
/// knows what else is shared: few are tested at a time.
fn spread(
    pairs: &[Pair],
    topology: Option<&Topology>,
    apart: &[(HostId, HostId)],
) -> Vec<Vec<Pair>> {
    let at_once = if topology.is_some() { pairs.len() } else { pairs.len().div_ceil(8) };
    let chunks = pairs.chunks(at_once.max(1)).map(<[Pair]>::to_vec);
    chunks.flat_map(|chunk| schedule::split_apart(chunk, topology, apart)).collect()
}

/// Hosts that are not suspects, in turn; of those that may share a link only if there are no others.
struct References {
    hosts: Vec<HostId>,
    next: usize,
}

impl References {
    fn of(mesh: &mut Mesh, evidence: &OfHosts, may_share: &[HostId]) -> Self {
        let mut hosts = mesh.live();
        hosts.retain(|host| !evidence.is_suspect(*host));
        mesh.rng.shuffle(&mut hosts);
        let shares = |host: &HostId| may_share.contains(host);
        if hosts.iter().filter(|host| !shares(host)).count() >= LEAST_REFERENCES {
            hosts.retain(|host| !shares(host));
        }
        Self { hosts, next: 0 }
    }

    /// The next host that is none of these.
    fn next(&mut self, but: &[HostId]) -> Option<HostId> {
        let count = self.hosts.len();
        let next = (1..=count).map(|step| self.next + step);
        let at = |place: usize| self.hosts[place % count];
        let place = { next }.find(|place| !but.contains(&at(*place)))?;
        self.next = place;
        Some(at(place))
    }
}

fn is_undecided(evidence: &OfHosts, host: HostId, may_share: bool) -> bool {
    let of = &evidence.hosts[host as usize];
    [of.send, of.receive].into_iter().any(|one| {
        let all = Evidence::of_all(one);
        let alone = one[ALONE].log_odds(evidence.by_chance);
        let is_settled = one[ALONE].tests() >= LEAST_ALONE && alone.abs() >= SETTLED;
        let is_named = all.confidence(evidence.by_chance, evidence.candidates()) >= NAMED_FROM;
        let is_suspect = all.log_odds(evidence.by_chance) > 0.0;
        (may_share || is_suspect) && !is_settled || is_suspect && alone > 0.0 && !is_named
    })
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
    slow.order_by_key(|(pair, _)| *pair);
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

/// Two tests at once need two.
const LEAST_REFERENCES: usize = 2;
/// Suspects that are tested again at most, of many thousand hosts.
const MOST_SUSPECTS: usize = 500;
/// Pairs that are tested again at most.
const MOST_PATHS: usize = 16;
/// Each two hosts that are tested at once, at most.
const MOST_CANDIDATES: usize = 28;
