//! What is slow: hosts, the path of one pair, links that hosts share, uplinks, the switches above.

use std::collections::{BTreeMap, BTreeSet};

use measurement::{BitRate, Order};

use super::estimate::{Estimate, is_of_model, median};
use super::evidence::{Evidence, NAMED_FROM, OfHosts, is_cleared, probability};
use super::loss::{self, Loss};
use super::{HostId, Mesh, Sample, Stage, SwitchId, bits_per_second, sharing, suspects};

/// The part that is slow.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// A host in both directions: interface, slot, or CPU.
    Host(HostId),
    /// A host as sender only.
    Sender(HostId),
    /// A host as receiver only.
    Receiver(HostId),
    /// From one host to another only, while both are fine with all others.
    Path(HostId, HostId),
    /// Hosts that are slow only beside each other: they share a link or a port.
    Shared(Vec<HostId>),
    /// The uplink of a switch.
    Uplink(SwitchId),
    /// One of several links or switches between the switches of hosts, for this share of the tests.
    Spine(f64),
}

impl Part {
    fn is_of(&self, host: HostId) -> bool {
        match self {
            Self::Host(of) | Self::Sender(of) | Self::Receiver(of) => *of == host,
            Self::Path(from, to) => [*from, *to].contains(&host),
            Self::Shared(hosts) => hosts.contains(&host),
            Self::Uplink(_) | Self::Spine(_) => false,
        }
    }
}

/// A part that is slow, with how sure that is.
#[derive(Clone, Debug, PartialEq)]
pub struct Culprit {
    /// The part.
    pub part: Part,
    /// Its rate as a share of that of others like it.
    pub ratio: f64,
    /// Probability that it is slow, by its tests.
    pub confidence: f64,
    /// Tests of it that were slow.
    pub slow: u32,
    /// All tests of it that count.
    pub tests: u32,
    /// Slow tests in which segments were lost.
    pub lossy: u32,
}

/// What the tests of a mesh say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// Parts that are slow, the one that costs most first.
    pub culprits: Vec<Culprit>,
    /// Hosts to or from which segments are lost, and that are not among the slow parts.
    pub losses: Vec<Loss>,
    /// The median rate of one direction of a pair.
    pub typical: BitRate,
    /// The median rate while all hosts send across switches. None: that was not tested.
    pub loaded: Option<BitRate>,
    /// What one half of the hosts sent to the other at once: of the rounds with most pairs, the
    /// median of the sums.
    pub bisection: BitRate,
    /// The pairs of such a round.
    pub bisection_pairs: u32,
    /// Hosts that did not answer any more.
    pub lost: Vec<HostId>,
    /// Pairs that could not be tested.
    pub untested: u32,
}

pub(super) fn find(mesh: &Mesh) -> Findings {
    let estimate = Estimate::of(mesh);
    let evidence = OfHosts::of(mesh, &estimate);
    let mut culprits = hosts(mesh, &evidence);
    culprits.extend(paths(mesh, &estimate, &evidence));
    culprits.extend(shared(mesh, &estimate, &evidence));
    culprits.extend(above_hosts(mesh, &estimate, &evidence));
    let cost = |culprit: &Culprit| (1.0 - culprit.ratio) * f64::from(culprit.slow);
    culprits.order_by(|one, other| cost(other).total_cmp(&cost(one)));
    let loaded = mesh.samples.iter().filter(|sample| sample.stage == Stage::Load);
    let loaded = loaded.map(|sample| f64::from(sample.log_rate));
    let (bisection, bisection_pairs) = bisection(mesh);
    let is_slow = |loss: &Loss| culprits.iter().any(|culprit| culprit.part.is_of(loss.host));
    let losses = loss::find(mesh).into_iter().filter(|loss| !is_slow(loss)).collect();
    Findings {
        culprits,
        losses,
        typical: rate(estimate.typical),
        loaded: median(loaded).map(rate),
        bisection,
        bisection_pairs,
        lost: mesh.lost().collect(),
        untested: u32::try_from(mesh.untested().len()).unwrap_or(u32::MAX),
    }
}

fn rate(log_rate: f64) -> BitRate {
    bits_per_second(log_rate.exp())
}

fn hosts(mesh: &Mesh, evidence: &OfHosts) -> Vec<Culprit> {
    let candidates = evidence.candidates();
    let is_bad = |one: [Evidence; 2]| {
        let all = Evidence::of_all(one);
        !is_cleared(&one, evidence) && all.confidence(evidence.by_chance, candidates) >= NAMED_FROM
    };
    let of_host = |host: HostId| {
        let of = evidence.hosts.get(host as usize)?;
        let (send, receive) = (Evidence::of_all(of.send), Evidence::of_all(of.receive));
        let (part, which) = match (is_bad(of.send), is_bad(of.receive)) {
            (true, true) => (Part::Host(host), send.and(receive)),
            (true, false) => (Part::Sender(host), send),
            (false, true) => (Part::Receiver(host), receive),
            (false, false) => return None,
        };
        Some(culprit(part, which, evidence.by_chance, candidates))
    };
    mesh.live().into_iter().filter_map(of_host).collect()
}

fn culprit(part: Part, of: Evidence, by_chance: f64, candidates: usize) -> Culprit {
    Culprit {
        part,
        ratio: of.ratio(),
        confidence: of.confidence(by_chance, candidates),
        slow: of.slow,
        tests: of.tests(),
        lossy: of.lossy,
    }
}

/// Pairs that are slow in each test, while their hosts are fine with others.
fn paths(mesh: &Mesh, estimate: &Estimate, evidence: &OfHosts) -> Vec<Culprit> {
    if mesh.design.sample.is_some() {
        // A sample tests a pair once.
        return Vec::new();
    }
    let candidates = mesh.samples.len();
    let slow = suspects::paths(mesh, estimate, evidence).into_iter();
    let named = slow.filter(|(_, of)| {
        of.slow > 1 && of.confidence(evidence.by_chance, candidates) >= NAMED_FROM
    });
    let culprits = named
        .map(|((from, to), of)| culprit(Part::Path(from, to), of, evidence.by_chance, candidates));
    culprits.collect()
}

/// Hosts that are slow at once and not alone.
fn shared(mesh: &Mesh, estimate: &Estimate, evidence: &OfHosts) -> Vec<Culprit> {
    let groups = sharing::groups(mesh, estimate, evidence).into_iter();
    let of_group = |(hosts, of): (Vec<HostId>, Evidence)| {
        culprit(Part::Shared(hosts), of, evidence.by_chance, evidence.candidates())
    };
    groups.map(of_group).filter(|culprit| culprit.confidence >= NAMED_FROM).collect()
}

/// Uplinks of switches, and what is above all of them.
fn above_hosts(mesh: &Mesh, estimate: &Estimate, evidence: &OfHosts) -> Vec<Culprit> {
    let Some(topology) = &mesh.design.topology else { return Vec::new() };
    let is_across = |sample: &&Sample| {
        let counts = is_of_model(sample.stage) || sample.stage == Stage::Load;
        let good = |host| !evidence.is_suspect(host);
        counts && topology.is_across(sample.from, sample.to) && good(sample.from) && good(sample.to)
    };
    let mut across: Vec<_> = mesh.samples.iter().filter(is_across).collect();
    let expected = |sample: &Sample| {
        if sample.stage == Stage::Load { estimate.loaded } else { estimate.typical }
    };
    let left = |sample: &Sample| f64::from(sample.log_rate) - expected(sample);
    let mut culprits = Vec::new();
    while let Some(found) = slowest_uplink(&across, estimate, mesh, &left) {
        if let Part::Uplink(switch) = found.part {
            across.retain(|sample| !crosses(topology, switch, sample));
        }
        culprits.push(found);
    }
    let mut all = Evidence::default();
    for sample in &across {
        all.count(left(sample), sample.is_lossy, estimate);
    }
    culprits.extend(spine(all));
    culprits
}

fn crosses(topology: &super::Topology, switch: SwitchId, sample: &Sample) -> bool {
    let (up, down) = topology.links(sample.from, sample.to);
    up.contains(&switch) || down.contains(&switch)
}

/// The uplink with most evidence, if that is enough. In each round and direction it has either as much
/// to carry as makes it slow or not, which is as likely: their likelihoods are added.
fn slowest_uplink(
    across: &[&Sample],
    estimate: &Estimate,
    mesh: &Mesh,
    left: &impl Fn(&Sample) -> f64,
) -> Option<Culprit> {
    let topology = mesh.design.topology.as_ref()?;
    let mut of: BTreeMap<(SwitchId, Option<u32>, Way), Evidence> = BTreeMap::new();
    let mut hosts: BTreeMap<SwitchId, BTreeSet<HostId>> = BTreeMap::new();
    for sample in across {
        let (up, down) = topology.links(sample.from, sample.to);
        // Not every round with all hosts at once has all hosts of each switch.
        let round = (sample.stage == Stage::Load).then_some(sample.round);
        for (links, way, host) in [(up, Way::Up, sample.from), (down, Way::Down, sample.to)] {
            for link in links {
                let one = of.entry((link, round, way)).or_default();
                one.count(left(sample), sample.is_lossy, estimate);
                hosts.entry(link).or_default().insert(host);
            }
        }
    }
    // Of one host its own link cannot be told from the uplink.
    let has_several = |switch: &SwitchId| hosts.get(switch).is_some_and(|hosts| hosts.len() > 1);
    let mut ways: BTreeMap<SwitchId, Vec<Evidence>> = BTreeMap::new();
    for ((switch, ..), one) in of.into_iter().filter(|((switch, ..), _)| has_several(switch)) {
        ways.entry(switch).or_default().push(one);
    }
    let odds = |ways: &[Evidence]| -> f64 {
        let in_one = |one: &Evidence| f64::midpoint(1.0, one.log_odds(BY_CHANCE_LOADED).exp()).ln();
        ways.iter().map(in_one).sum()
    };
    let candidates = topology.switches().len();
    let sure = ways.into_iter().map(|(switch, ways)| (switch, odds(&ways), ways));
    let sure = sure.filter(|(_, odds, _)| probability(*odds, candidates) >= NAMED_FROM);
    let (switch, odds, ways) = sure.max_by(|one, other| one.1.total_cmp(&other.1))?;
    let slow = ways.into_iter().filter(|one| one.slow * 5 >= one.tests() * 4);
    let of = slow.fold(Evidence::default(), Evidence::and);
    let confidence = probability(odds, candidates);
    Some(Culprit { confidence, ..culprit(Part::Uplink(switch), of, BY_CHANCE_LOADED, candidates) })
}

/// From a switch upward, or down to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Up,
    Down,
}

/// Slow tests that no host and no uplink explains, of which some share is slow by the path that a
/// flow's addresses and ports choose (ECMP, RFC 2992).
fn spine(all: Evidence) -> Option<Culprit> {
    let share = f64::from(all.slow) / f64::from(all.tests().max(1));
    if all.slow < LEAST_OF_SPINE || share < LEAST_SHARE_OF_SPINE {
        return None;
    }
    // The log-likelihood ratio of this share against that of chance.
    let fine = f64::from(all.fine) * ((1.0 - share).max(1e-9) / (1.0 - BY_CHANCE_ABOVE)).ln();
    let odds = f64::from(all.slow) * (share / BY_CHANCE_ABOVE).ln() + fine;
    let confidence = 1.0 / (1.0 + (-odds).exp());
    (confidence >= NAMED_FROM).then_some(Culprit {
        part: Part::Spine(share),
        ratio: all.ratio(),
        confidence,
        slow: all.slow,
        tests: all.tests(),
        lossy: all.lossy,
    })
}

/// What the rounds with most pairs carried at once, one direction at a time.
fn bisection(mesh: &Mesh) -> (BitRate, u32) {
    let mut rounds: BTreeMap<u32, (f64, u32)> = BTreeMap::new();
    let at_once = |sample: &&Sample| matches!(sample.stage, Stage::Survey | Stage::Load);
    for sample in mesh.samples.iter().filter(at_once) {
        let (sum, tests) = rounds.entry(sample.round).or_default();
        *sum += f64::from(sample.log_rate).exp();
        *tests += 1;
    }
    let most = rounds.values().map(|(_, tests)| *tests).max().unwrap_or_default();
    let full = rounds.values().filter(|(_, tests)| *tests == most);
    let sum = median(full.map(|(sum, _)| sum / 2.0)).unwrap_or_default();
    (bits_per_second(sum), most / 2)
}

/// Share of the tests that are slow by chance while all hosts send.
const BY_CHANCE_LOADED: f64 = 0.2;
/// As above, of tests that no uplink explains.
const BY_CHANCE_ABOVE: f64 = 0.03;
/// Slow tests, and their share, from which on a path above the uplinks is named.
const LEAST_OF_SPINE: u32 = 8;
const LEAST_SHARE_OF_SPINE: f64 = 0.05;
