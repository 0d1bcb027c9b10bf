//! One case: a scene, and none, one or two faults in it. The same seed and number give the same.

use std::path::PathBuf;

use fastrand::Rng;

use super::super::expected::Expected;
use super::super::machine::Machine;
use super::super::scenario::{Command, Metric, Need, Peer, Run, Scenario, once};
use super::super::step::Step;
use super::families;
use super::fault::{Family, Fault};
use super::scene::Scene;

#[derive(Clone, Debug)]
pub(super) struct Case {
    /// Seed and number.
    pub(super) id: String,
    pub(super) family: String,
    pub(super) scene: Scene,
    /// The program of a peer that is an iperf3; none: the installed one.
    pub(super) peer: Option<PathBuf>,
    pub(super) machine: Machine,
    /// None: a clean control.
    pub(super) faults: Vec<Fault>,
}

impl Case {
    pub(super) fn draw(seed: u64, number: u64) -> Self {
        let id = format!("{seed}.{number}");
        let rng = &mut Rng::with_seed(seed.wrapping_mul(FAR_APART).wrapping_add(number));
        let sort = rng.u8(0..100);
        if sort < PERCENT_CLEAN {
            let scene = Scene::draw(rng).paced(rng);
            let family = CLEAN.to_owned();
            let machine = Machine::Here;
            return Self { id, family, scene, peer: None, machine, faults: Vec::new() };
        }
        let (family, scene) = placed(rng);
        let fault = (family.draw)(rng, &scene);
        let (name, faults) = (family.name.to_owned(), vec![fault]);
        let machine = Machine::Here;
        let mut case = Self { id, family: name, scene, peer: None, machine, faults };
        if sort < PERCENT_CLEAN + PERCENT_TWO {
            case.add_another(rng);
        }
        case
    }

    /// With an iperf3 of these, or the installed one, where the peer is one: in turns by its number.
    pub(super) fn with_one_of(mut self, programs: &[PathBuf], number: u64) -> Self {
        let all = programs.len() as u64 + 1;
        let turn = usize::try_from(number % all).unwrap_or(0);
        let is_iperf3 = self.scene.peer == Peer::Iperf3;
        self.peer = turn.checked_sub(1).filter(|_| is_iperf3).map(|at| programs[at].clone());
        self
    }

    /// This case on another machine.
    pub(super) fn on(mut self, machine: Machine) -> Self {
        self.id = machine.case(&self.id);
        self.machine = machine;
        self
    }

    /// A second one that fits and leaves the first as it is, if there is one.
    fn add_another(&mut self, rng: &mut Rng) {
        let first = self.family.clone();
        for _ in 0..MOST_TRIES {
            let family = one_of_all(rng);
            if family.name == first || !(family.fits)(&self.scene) {
                continue;
            }
            let fault = (family.draw)(rng, &self.scene);
            if !fault.clashes_with(&self.faults[0]) {
                self.family = format!("{first}+{}", family.name);
                self.faults.push(fault);
                return;
            }
        }
    }

    /// What is planted, in words.
    pub(super) fn planted(&self) -> String {
        let words: Vec<_> = self.faults.iter().map(|fault| fault.words.as_str()).collect();
        if words.is_empty() { "nothing".to_owned() } else { words.join("; ") }
    }

    /// What runs without the fault of this index, or with all of them.
    pub(super) fn steps(&self, without: Option<usize>) -> Vec<Step> {
        let present = self.faults.iter().enumerate().filter(|(at, _)| Some(*at) != without);
        let plants = present.flat_map(|(_, fault)| fault.plant.clone());
        self.base().into_iter().chain(plants).collect()
    }

    fn base(&self) -> Vec<Step> {
        let bases = self.faults.iter().flat_map(|fault| fault.base.clone());
        let machine = self.machine.steps(self.scene.topology());
        self.scene.steps().into_iter().chain(bases).chain(machine).collect()
    }

    /// As a scenario whose cause is the fault of this index; any other is there without it too.
    pub(super) fn scenario(&self, cause: usize) -> Scenario {
        let fault = self.faults.get(cause);
        let others = self.faults.iter().enumerate().filter(|(at, _)| *at != cause);
        let others = others.flat_map(|(_, other)| other.plant.clone());
        Scenario {
            name: format!("{}-{}", self.id, self.family),
            planted: format!("{} (seed {})", self.planted(), self.id),
            topology: self.scene.topology(),
            command: Command::Test,
            test: self.scene.words(),
            metric: Metric::Delivered,
            peer: self.scene.peer,
            program: self.peer.clone(),
            run: Run::Long,
            times: once(),
            needs: self.needs(),
            base: self.base().into_iter().chain(others).collect(),
            plant: fault.map(|fault| fault.plant.clone()).unwrap_or_default(),
            expect: fault.map_or(Expected::Delivered, Fault::expected),
            never: None,
        }
    }

    fn needs(&self) -> Vec<Need> {
        let faults = self.faults.iter().flat_map(|fault| fault.needs.clone());
        let machine = self.machine.needs();
        self.scene.needs().into_iter().chain(faults).chain(machine).collect()
    }
}

/// A family, and a scene in which it can be planted.
fn placed(rng: &mut Rng) -> (&'static Family, Scene) {
    let family = one_of_all(rng);
    loop {
        let scene = Scene::draw(rng);
        if (family.fits)(&scene) {
            return (family, scene);
        }
    }
}

fn one_of_all(rng: &mut Rng) -> &'static Family {
    let all: Vec<_> = families::all().collect();
    all[rng.usize(0..all.len())]
}

/// The family without a fault.
pub(super) const CLEAN: &str = "none";
const PERCENT_CLEAN: u8 = 20;
const PERCENT_TWO: u8 = 15;
const MOST_TRIES: usize = 100;
/// So that neighbouring seeds share no case (an odd number, Knuth, TAOCP 6.4).
const FAR_APART: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use measurement::RuleId;

    use super::*;

    fn some() -> impl Iterator<Item = Case> {
        (0..2_000).map(|number| Case::draw(7, number))
    }

    #[test]
    fn the_same_seed_gives_the_same_case() {
        let shown = |seed, number| format!("{:?}", Case::draw(seed, number));
        assert_eq!(shown(3, 5), shown(3, 5));
        assert_ne!(shown(3, 5), shown(3, 6));
        assert_ne!(shown(3, 5), shown(4, 5));
    }

    #[test]
    fn every_family_is_drawn_and_a_fifth_is_clean() {
        let drawn: BTreeSet<_> = some().map(|case| case.family).collect();
        for family in families::all() {
            assert!(drawn.contains(family.name), "{}", family.name);
        }
        let clean = some().filter(|case| case.faults.is_empty()).count();
        assert!((300..500).contains(&clean), "{clean}");
    }

    #[test]
    fn a_rule_that_names_a_fault_is_one() {
        for fault in some().flat_map(|case| case.faults) {
            for slug in &fault.rules {
                let is_known = slug.parse::<RuleId>().is_ok() || AWAITED.contains(slug);
                assert!(is_known, "{slug}");
            }
        }
    }

    /// Named before the analysis has them.
    const AWAITED: [&str; 5] = [
        "path-rate-limit",
        "ack-path-limited",
        "path-mtu-black-hole",
        "ingress-drops",
        "forward-drops",
    ];
}
