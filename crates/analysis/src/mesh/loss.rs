//! Hosts to or from which segments are lost while their rates hold.

use super::evidence::{Evidence, NAMED_FROM};
use super::{HostId, Mesh, Stage};

/// Segments of nearly all tests of a host in one direction are lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// The host.
    pub host: HostId,
    /// Whether it sends them.
    pub sends: bool,
    /// Tests with loss.
    pub lossy: u32,
    /// All its tests in that direction.
    pub tests: u32,
    /// Probability that this is no chance, by how often tests of the others have loss.
    pub confidence: f64,
}

/// Such hosts, by number.
pub(super) fn find(mesh: &Mesh) -> Vec<Loss> {
    let hosts = mesh.design.hosts as usize;
    let mut ways = [vec![(0, 0); hosts], vec![(0, 0); hosts]];
    let (mut lossy, mut tests) = (0, 0);
    for sample in mesh.samples.iter().filter(|sample| sample.stage == Stage::Survey) {
        let loss = u32::from(sample.is_lossy);
        for (way, host) in ways.iter_mut().zip([sample.from, sample.to]) {
            let (with_loss, all) = &mut way[host as usize];
            *with_loss += loss;
            *all += 1;
        }
        lossy += loss;
        tests += 1;
    }
    let of_way = |(way, sends): (&Vec<(u32, u32)>, bool)| -> Vec<Loss> {
        let of_host = |(host, of): (HostId, &(u32, u32))| {
            let others = (lossy - of.0, tests - of.1);
            let confidence = confidence(*of, others, 2 * hosts);
            let is_found = of.0 >= LEAST && confidence >= NAMED_FROM;
            is_found.then_some(Loss { host, sends, lossy: of.0, tests: of.1, confidence })
        };
        (0..).zip(way).filter_map(of_host).collect()
    };
    let [sent, received] = &ways;
    [(sent, true), (received, false)].into_iter().flat_map(of_way).collect()
}

/// The probability that a host with `lossy` of `tests` is no chance; `others`: tests with loss and all
/// tests of the other hosts.
fn confidence((lossy, tests): (u32, u32), others: (u32, u32), candidates: usize) -> f64 {
    let by_chance = f64::from(others.0) / f64::from(others.1.max(1));
    Evidence::counted(lossy, tests - lossy)
        .confidence(by_chance.clamp(LEAST_SHARE, MOST_SHARE), candidates)
}

/// Tests with loss.
const LEAST: u32 = 3;
/// Share of the tests that have loss by chance, at least and at most.
const LEAST_SHARE: f64 = 0.02;
const MOST_SHARE: f64 = 0.9;
