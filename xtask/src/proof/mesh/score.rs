//! What a mesh found of what was planted, and at what cost.

use analysis::mesh::{Culprit, HostId, Mesh, Part};

use super::fabric::Fabric;

/// Sums over runs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Score {
    planted: usize,
    found: usize,
    false_alarms: usize,
    tests: usize,
    most_tests: usize,
    rounds: u32,
}

impl Score {
    pub(super) fn of(fabric: &Fabric, mesh: &Mesh, rounds: u32) -> Self {
        let culprits = mesh.findings().culprits;
        let has = |is: &dyn Fn(&Culprit) -> bool| usize::from(culprits.iter().any(is));
        let part = |wanted: Part| has(&|culprit| culprit.part == wanted);
        let lossy = |host: u32| {
            has(&|culprit| culprit.part == Part::Receiver(host) && culprit.lossy * 2 > culprit.slow)
        };
        let found = fabric.interfaces.iter().map(|host| part(Part::Host(*host))).sum::<usize>()
            + fabric.cables.iter().map(|host| lossy(*host)).sum::<usize>()
            + fabric.uplinks.iter().map(|switch| part(Part::Uplink(*switch))).sum::<usize>()
            + fabric.shared.iter().map(|two| part(shared(*two))).sum::<usize>()
            + has(&|culprit| fabric.has_slow_spine && matches!(culprit.part, Part::Spine(_)));
        let planted = fabric.interfaces.len()
            + fabric.cables.len()
            + fabric.uplinks.len()
            + fabric.shared.len()
            + usize::from(fabric.has_slow_spine);
        let is_false = |culprit: &&Culprit| !is_planted(fabric, culprit);
        let false_alarms = culprits.iter().filter(is_false).count();
        let tests = mesh.tests();
        Self { planted, found, false_alarms, tests, most_tests: tests, rounds }
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self {
            planted: self.planted + other.planted,
            found: self.found + other.found,
            false_alarms: self.false_alarms + other.false_alarms,
            tests: self.tests + other.tests,
            most_tests: self.most_tests.max(other.most_tests),
            rounds: self.rounds + other.rounds,
        }
    }

    /// Most that was planted is found, false alarms are rare, and no run takes too many tests.
    pub(super) fn is_right(&self, runs: u64) -> bool {
        let found = self.found as f64 / self.planted.max(1) as f64;
        found >= LEAST_FOUND
            && self.false_alarms as f64 <= runs as f64 / 20.0
            && self.most_tests <= MOST_TESTS
    }

    pub(super) fn line(&self, hosts: u32, runs: u64) -> String {
        let runs = runs as f64;
        let rounds = f64::from(self.rounds) / runs;
        format!(
            "{hosts:>5} {:>6.0} {rounds:>7.0} {:>8.1} {:>3} of {:<3} {:>6}",
            self.tests as f64 / runs,
            rounds * SECONDS_PER_ROUND / 60.0,
            self.found,
            self.planted,
            self.false_alarms
        )
    }
}

fn is_planted(fabric: &Fabric, culprit: &Culprit) -> bool {
    let is_host = |host| fabric.interfaces.contains(host) || fabric.cables.contains(host);
    match &culprit.part {
        Part::Host(host) | Part::Sender(host) | Part::Receiver(host) => is_host(host),
        Part::Uplink(switch) => fabric.uplinks.contains(switch),
        Part::Spine(_) => fabric.has_slow_spine,
        Part::Shared(_) => fabric.shared.iter().any(|two| shared(*two) == culprit.part),
        Part::Path(..) => false,
    }
}

fn shared(mut two: [HostId; 2]) -> Part {
    two.sort_unstable();
    Part::Shared(two.to_vec())
}

/// Two directions of two seconds each, and what it takes to start them.
const SECONDS_PER_ROUND: f64 = 5.0;
const LEAST_FOUND: f64 = 0.95;
const MOST_TESTS: usize = 60_000;
