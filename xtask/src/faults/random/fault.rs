//! A fault, and the families from which faults are drawn.

use std::mem::discriminant;

use fastrand::Rng;
use measurement::RuleId;

use super::super::expected::{Expected, On};
use super::super::scenario::Need;
use super::super::step::{End, Step};
use super::scene::{Scene, Watch, on};

/// Faults of one kind.
pub(super) struct Family {
    pub(super) name: &'static str,
    /// Whether it can be planted there, and can cost something.
    pub(super) fits: fn(&Scene) -> bool,
    /// One of random size.
    pub(super) draw: fn(&mut Rng, &Scene) -> Fault,
}

/// What is planted, and which verdicts name it.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    /// In words.
    pub(super) words: String,
    /// What is there without it too.
    pub(super) base: Vec<Step>,
    pub(super) plant: Vec<Step>,
    pub(super) needs: Vec<Need>,
    pub(super) rules: Vec<&'static str>,
    /// Where it may be seen; empty: wherever.
    pub(super) on: Vec<On>,
    /// What a verdict asks for that leaves it open with reason.
    pub(super) asks: Option<&'static str>,
}

impl Fault {
    pub(super) fn new(words: impl Into<String>, plant: Vec<Step>) -> Self {
        Self {
            words: words.into(),
            base: Vec::new(),
            plant,
            needs: Vec::new(),
            rules: Vec::new(),
            on: Vec::new(),
            asks: None,
        }
    }

    pub(super) fn based_on(self, base: Vec<Step>) -> Self {
        Self { base, ..self }
    }

    pub(super) fn needing(self, need: Need) -> Self {
        Self { needs: vec![need], ..self }
    }

    /// Each of these rules names it.
    pub(super) fn named(self, rules: &[&'static str]) -> Self {
        Self { rules: rules.to_vec(), ..self }
    }

    /// It is at one end; what an iperf3 suffers is known to nobody else.
    pub(super) fn at_end(self, scene: &Scene, end: End) -> Self {
        let asks = scene.is_silent(end).then_some(ASK_SERVER);
        Self { on: vec![on(end)], asks, ..self }
    }

    /// It keeps a program from its work: of an iperf3 that receives over TCP, that it reads too
    /// slowly is all that the other end can see.
    pub(super) fn of_a_program(self, scene: &Scene, end: End) -> Self {
        let mut fault = self.at_end(scene, end);
        if scene.is_silent(end) && scene.receiver() == end && scene.is_tcp() {
            fault.rules.push("receive-window-limited");
        }
        fault
    }

    /// It fills the CPU of one end: of an iperf3 no more is told than that its process took it.
    pub(super) fn of_a_cpu(self, scene: &Scene, end: End) -> Self {
        let mut fault = self.at_end(scene, end);
        if scene.is_silent(end) {
            fault.rules.push("cpu-saturated");
        }
        fault
    }

    /// What lies under it at the other end costs as much or more: either is right.
    pub(super) fn at_either_end(self, scene: &Scene) -> Self {
        let fault = self.at_end(scene, scene.sender);
        let on = [on(scene.sender), on(scene.receiver())];
        Self { on: on.to_vec(), ..fault }
    }

    /// It is at one end, and seen from the other as the path's if that end is an iperf3.
    pub(super) fn at_end_or_path(self, scene: &Scene, end: End, far: &[&'static str]) -> Self {
        let mut fault = self.at_end(scene, end);
        if scene.is_silent(end) {
            fault.on.push(On::Path);
            fault.rules.extend(far);
        }
        fault
    }

    /// It is on a router.
    pub(super) fn on_router(self, scene: &Scene) -> Self {
        let asks = (scene.router() != Some(Watch::Observed)).then_some(ASK_OBSERVER);
        Self { on: vec![scene.on_router()], asks, ..self }
    }

    /// It is on a path that nobody can observe.
    pub(super) fn on_path(self) -> Self {
        Self { on: vec![On::Path], asks: Some(ASK_OBSERVER), ..self }
    }

    pub(super) fn expected(&self) -> Expected {
        Expected::Cause {
            rules: self.rules.iter().filter_map(|slug| slug.parse::<RuleId>().ok()).collect(),
            on: self.on.clone(),
            open: self.asks.map(str::to_owned),
            rate: None,
        }
    }

    /// Whether one of both would undo the other.
    pub(super) fn clashes_with(&self, other: &Self) -> bool {
        let all = |fault: &Self| fault.base.iter().chain(&fault.plant).cloned().collect::<Vec<_>>();
        let (own, others) = (all(self), all(other));
        own.iter().any(|one| others.iter().any(|two| clash(one, two)))
    }
}

fn clash(one: &Step, two: &Step) -> bool {
    match (one, two) {
        (Step::Queue { at: one, .. }, Step::Queue { at: two, .. }) => one == two,
        (Step::Sysctl { name: one, .. }, Step::Sysctl { name: two, .. }) => one == two,
        (Step::Firewall { .. }, Step::Firewall { .. }) => false,
        _ => discriminant(one) == discriminant(two),
    }
}

const ASK_SERVER: &str = "run linerate on";
const ASK_OBSERVER: &str = "--observe";
