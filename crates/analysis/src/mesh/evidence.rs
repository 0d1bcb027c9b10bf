//! How much tests say for and against a cause: the sequential probability ratio test (Wald 1945).

use super::estimate::Estimate;
use super::{HostId, Mesh, Sample, Stage};

/// Tests for and against one cause.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Evidence {
    pub(super) slow: u32,
    pub(super) fine: u32,
    /// Slow ones in which segments were lost.
    pub(super) lossy: u32,
    /// Sum over the slow ones of how far they are below the rate expected, as logarithms.
    below: f64,
}

impl Evidence {
    /// What all stages say of one cause.
    pub(super) fn of_all(one: [Self; 2]) -> Self {
        one[SURVEY].and(one[ALONE])
    }

    /// Evidence of so many slow and fine tests, of whose rates nothing is known.
    pub(super) fn counted(slow: u32, fine: u32) -> Self {
        Self { slow, fine, ..Self::default() }
    }

    /// Counts a test that is `left` above what is expected without the cause.
    pub(super) fn count(&mut self, left: f64, is_lossy: bool, estimate: &Estimate) {
        if left < estimate.slow_below {
            self.slow += 1;
            self.lossy += u32::from(is_lossy);
            self.below += left;
        } else {
            self.fine += 1;
        }
    }

    /// The logarithm of how much likelier the tests are with the cause than without, when `by_chance`
    /// is the share of tests that are slow without it.
    pub(super) fn log_odds(&self, by_chance: f64) -> f64 {
        let slow = (SLOW_IF_BAD / by_chance).ln();
        let fine = ((1.0 - SLOW_IF_BAD) / (1.0 - by_chance)).ln();
        f64::from(self.slow) * slow + f64::from(self.fine) * fine
    }

    /// The probability of the cause, if one in `candidates` is one to begin with.
    pub(super) fn confidence(&self, by_chance: f64, candidates: usize) -> f64 {
        probability(self.log_odds(by_chance), candidates)
    }

    /// The rate of the slow tests as a share of what is expected.
    pub(super) fn ratio(&self) -> f64 {
        if self.slow == 0 { 1.0 } else { (self.below / f64::from(self.slow)).exp() }
    }

    pub(super) fn tests(&self) -> u32 {
        self.slow + self.fine
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self {
            slow: self.slow + other.slow,
            fine: self.fine + other.fine,
            lossy: self.lossy + other.lossy,
            below: self.below + other.below,
        }
    }
}

/// The probability of a cause by the logarithm of its odds, if one in `candidates` is one to begin with.
pub(super) fn probability(log_odds: f64, candidates: usize) -> f64 {
    let log_odds = log_odds - (candidates.max(1) as f64).ln();
    1.0 / (1.0 + (-log_odds).exp())
}

/// Evidence on a host, by direction, and by stage.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct OfHost {
    pub(super) send: [Evidence; 2],
    pub(super) receive: [Evidence; 2],
}

pub(super) const SURVEY: usize = 0;
pub(super) const ALONE: usize = 1;

/// Whether one direction of a host is not slow alone.
pub(super) fn is_cleared(one: &[Evidence; 2], evidence: &OfHosts) -> bool {
    one[ALONE].tests() >= LEAST_ALONE && one[ALONE].log_odds(evidence.by_chance) <= 0.0
}

/// Evidence on all hosts, and how often a test is slow by chance.
#[derive(Clone, Debug)]
pub(super) struct OfHosts {
    pub(super) hosts: Vec<OfHost>,
    pub(super) by_chance: f64,
}

impl OfHosts {
    pub(super) fn of(mesh: &Mesh, estimate: &Estimate) -> Self {
        let mut hosts = vec![OfHost::default(); mesh.design.hosts as usize];
        let is_slow = |effects: &[f64], host: HostId| effects[host as usize] < estimate.slow_below;
        for sample in &mesh.samples {
            let Some(column) = column(sample.stage) else { continue };
            let left = left_without_hosts(mesh, estimate, sample);
            // A test with a partner that is slow says nothing: it would be slow in any case.
            if !is_slow(&estimate.receive, sample.to) {
                hosts[sample.from as usize].send[column].count(left, sample.is_lossy, estimate);
            }
            if !is_slow(&estimate.send, sample.from) {
                hosts[sample.to as usize].receive[column].count(left, sample.is_lossy, estimate);
            }
        }
        let by_chance = by_chance(mesh, estimate);
        Self { hosts, by_chance }
    }

    /// Whether a host is likely slow in that direction, or at least more likely than not.
    pub(super) fn is_suspect(&self, host: HostId) -> bool {
        let of = &self.hosts[host as usize];
        [of.send, of.receive]
            .into_iter()
            .any(|one| Evidence::of_all(one).log_odds(self.by_chance) > 0.0)
    }

    /// How many causes there may be: each host as sender and as receiver.
    pub(super) const fn candidates(&self) -> usize {
        2 * self.hosts.len()
    }
}

fn column(stage: Stage) -> Option<usize> {
    match stage {
        Stage::Survey => Some(SURVEY),
        Stage::Alone => Some(ALONE),
        Stage::Load | Stage::Together => None,
    }
}

/// What a rate is above the typical one, less what uplinks explain.
pub(super) fn left_without_hosts(mesh: &Mesh, estimate: &Estimate, sample: &Sample) -> f64 {
    f64::from(sample.log_rate) - estimate.typical - estimate.on_links(mesh, sample)
}

/// The share of the tests of the survey that are slow between hosts that are not by the model.
fn by_chance(mesh: &Mesh, estimate: &Estimate) -> f64 {
    let is_fine = |host: HostId| {
        let host = host as usize;
        estimate.send[host].min(estimate.receive[host]) >= estimate.slow_below
    };
    let mut all = Evidence::default();
    for sample in mesh.samples.iter().filter(|sample| column(sample.stage) == Some(SURVEY)) {
        if is_fine(sample.from) && is_fine(sample.to) {
            all.count(left_without_hosts(mesh, estimate, sample), sample.is_lossy, estimate);
        }
    }
    let share = f64::from(all.slow) / f64::from(all.tests().max(1));
    share.clamp(LEAST_BY_CHANCE, MOST_BY_CHANCE)
}

/// Share of the tests with a slow part that are slow.
const SLOW_IF_BAD: f64 = 0.95;
/// Share of the tests that are taken to be slow by chance, at least and at most.
const LEAST_BY_CHANCE: f64 = 0.02;
const MOST_BY_CHANCE: f64 = 0.4;
/// A cause is named from this probability on.
pub(super) const NAMED_FROM: f64 = 0.99;
/// Tests alone that tell a slow host from a shared link.
pub(super) const LEAST_ALONE: u32 = 2;
/// Logarithm of the odds from which on what tests alone say is settled: 20 to 1.
pub(super) const SETTLED: f64 = 3.0;
