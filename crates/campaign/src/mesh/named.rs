//! Between numbers, as the analysis has hosts, and names, as records have them.

use std::collections::BTreeMap;

use analysis::mesh::{Culprit, HostId, Loss, Part, Stage, Topology};
use measurement::mesh::{MeshFailure, MeshLoss, MeshMissing};
use measurement::record::RunError;
use measurement::{BitRate, MeshCulprit, MeshPart, MeshRate, MeshRecord, MeshStage, Order};

use super::links::SLOW;
use super::{Ended, Limit, MeshHost};

/// As records have it.
pub const fn stage(stage: Stage) -> MeshStage {
    match stage {
        Stage::Survey => MeshStage::Survey,
        Stage::Load => MeshStage::Load,
        Stage::Alone => MeshStage::Alone,
        Stage::Together => MeshStage::Together,
    }
}

/// The record of a mesh that has ended.
pub fn record(
    hosts: &[MeshHost],
    topology: Option<&Topology>,
    ended: &Ended,
    tags: BTreeMap<String, String>,
    error: Option<RunError>,
) -> MeshRecord {
    let findings = ended.mesh.findings();
    let name = |host: &HostId| hosts[*host as usize].name.clone();
    let culprits = findings
        .culprits
        .iter()
        .map(|culprit| named(hosts, topology, (ended, findings.typical), culprit));
    let failures = ended.failures.iter().map(|(pair, error)| MeshFailure {
        a: name(&pair.a),
        b: name(&pair.b),
        error: error.clone(),
    });
    MeshRecord {
        linerate: env!("CARGO_PKG_VERSION").to_owned(),
        tags,
        hosts: hosts.iter().map(|host| host.name.clone()).collect(),
        tests: ended.mesh.tests() as u64,
        stored: ended.stored,
        rounds: ended.rounds,
        typical: findings.typical,
        loaded: findings.loaded,
        bisection: findings.bisection,
        bisection_pairs: findings.bisection_pairs,
        links: ended.links.typical(),
        skew_seconds: ended.skew.as_secs_f64(),
        without_clock: ended.without_clock.iter().map(name).collect(),
        culprits: culprits.collect(),
        losses: findings.losses.iter().map(|loss| lossy(name(&loss.host), loss)).collect(),
        rates: rates(hosts, ended),
        lost: findings.lost.iter().map(name).collect(),
        missing: MeshMissing { untested: findings.untested, failures: failures.collect() },
        error,
        ..MeshRecord::default()
    }
}

fn lossy(host: String, of: &Loss) -> MeshLoss {
    let Loss { sends, lossy, tests, confidence, .. } = *of;
    MeshLoss { host, sends, lossy, tests, confidence }
}

fn rates(hosts: &[MeshHost], ended: &Ended) -> Vec<MeshRate> {
    let known = ended.rates.iter().enumerate().filter_map(|(place, rate)| Some((place, (*rate)?)));
    let rates = known.map(|(place, rate)| MeshRate {
        from: hosts[place / hosts.len()].name.clone(),
        to: hosts[place % hosts.len()].name.clone(),
        rate,
    });
    rates.collect()
}

fn named(
    hosts: &[MeshHost],
    topology: Option<&Topology>,
    (ended, typical): (&Ended, BitRate),
    culprit: &Culprit,
) -> MeshCulprit {
    let name = |host: HostId| hosts[host as usize].name.clone();
    let switch = |of: u32| {
        let names = topology.map(Topology::switches).unwrap_or_default();
        names.get(of as usize).cloned().unwrap_or_default()
    };
    let is_lossy = culprit.lossy * 2 > culprit.slow;
    let (part, name, text, of) = match &culprit.part {
        Part::Host(host) => (MeshPart::Host, name(*host), of_host(is_lossy), vec![*host]),
        Part::Sender(host) => (MeshPart::Sender, name(*host), of_sender(is_lossy), vec![*host]),
        Part::Receiver(host) => {
            (MeshPart::Receiver, name(*host), of_receiver(is_lossy), vec![*host])
        }
        Part::Path(from, to) => {
            let shown = format!("{} -> {}", name(*from), name(*to));
            (MeshPart::Path, shown, PATH.to_owned(), vec![*from, *to])
        }
        Part::Shared(group) => {
            let names: Vec<_> = group.iter().map(|host| name(*host)).collect();
            (MeshPart::Shared, names.join(", "), SHARED.to_owned(), group.clone())
        }
        Part::Uplink(of) => (MeshPart::Uplink, switch(*of), UPLINK.to_owned(), Vec::new()),
        Part::Spine(share) => {
            let text =
                format!("{:.0} % of the tests between switches are slow: {SPINE}", share * 100.0);
            (MeshPart::Spine, "between switches".to_owned(), text, Vec::new())
        }
    };
    MeshCulprit {
        part,
        name,
        text,
        rate_ratio: culprit.ratio,
        confidence: culprit.confidence,
        slow: culprit.slow,
        tests: culprit.tests,
        lossy: culprit.lossy,
        evidence: evidence(hosts, (ended, typical), culprit, &of),
    }
}

fn of_host(is_lossy: bool) -> String {
    let text = "slow to send and to receive with all others";
    if is_lossy {
        format!("{text}, and segments are lost: its cable, or the port of its switch")
    } else {
        format!("{text}, without loss: its interface, the speed of its link, or its CPU")
    }
}

fn of_sender(is_lossy: bool) -> String {
    let text = "slow to send to all others";
    if is_lossy {
        format!(
            "{text}, and segments are lost: its transmitter, its cable, or the switch's receiver"
        )
    } else {
        format!("{text}, without loss: its CPU, its settings, or a shaper")
    }
}

fn of_receiver(is_lossy: bool) -> String {
    let text = "slow to receive from all others";
    if is_lossy {
        format!("{text}, and segments are lost: the port of its switch, its cable, or its queues")
    } else {
        format!("{text}, without loss: its CPU, or its settings")
    }
}

/// Evidence on a culprit, which is of the hosts `of`: their slow links, and the verdicts on their slow
/// tests.
fn evidence(
    hosts: &[MeshHost],
    (ended, typical): (&Ended, BitRate),
    culprit: &Culprit,
    of: &[HostId],
) -> Vec<String> {
    let typical = typical.bits_per_second() as f64;
    let counts = |host: HostId, sends: bool| match &culprit.part {
        Part::Sender(_) => sends,
        Part::Receiver(_) => !sends,
        Part::Path(from, _) => sends == (host == *from),
        _ => true,
    };
    let is_said = |limit: &&Limit| {
        let (host, sends, _) = &limit.of;
        let is_slow = (limit.slowest.bits_per_second() as f64) < SLOW * typical;
        of.contains(host) && counts(*host, *sends) && is_slow
    };
    let mut said: Vec<_> = ended.limits.iter().filter(is_said).collect();
    said.order_by_key(|limit| std::cmp::Reverse(limit.count));
    let shown = said.into_iter().map(|limit| {
        let (host, _, rule) = &limit.of;
        let name = &hosts[*host as usize].name;
        let times = measurement::units::counted(u64::from(limit.count), "test");
        format!("{name}: {} ({rule}, {times})", limit.text)
    });
    let slow_links = of.iter().flat_map(|host| ended.links.slow(hosts, *host));
    let mut all: Vec<_> = slow_links.chain(shown).collect();
    all.dedup();
    all.truncate(MOST_EVIDENCE);
    all
}

const PATH: &str = "slow, while both hosts are fine with all others: the path between these two";
const SHARED: &str = "slow only while both are tested, fine alone: they share a link or a port";
const UPLINK: &str = "its hosts are fine among themselves, slow to others: its uplink";
const SPINE: &str = "one of several links or switches above";
const MOST_EVIDENCE: usize = 3;
