//! The bounds of one goal: those that trials of any length suggest, and the relevant bounds of
//! RFC 9971, which full-length trials have shown.

use measurement::{BitRate, SearchGoal};

use super::classification::{Class, forwarded};
use super::estimate::Estimate;
use super::trials::{Point, Trials};
use super::{rate, whole};

/// The bounds of a goal after some trials.
#[derive(Clone, Debug)]
pub(super) struct Bounds<'a> {
    goal: &'a SearchGoal,
    trials: &'a Trials,
    loads: Vec<Load>,
    /// Short trials passed what the device does not carry for long: they are left out.
    needs_full_length: bool,
}

/// A load that was tried, and what its trials say.
#[derive(Clone, Copy, Debug)]
struct Load {
    /// In bit/s.
    rate: u64,
    class: Class,
    /// Whether it fails, by its longest trials.
    fails: bool,
}

impl<'a> Bounds<'a> {
    pub(super) fn new(
        goal: &'a SearchGoal,
        trials: &'a Trials,
        estimate: Option<Estimate>,
    ) -> Self {
        let is_refuted = |trial: &Point| {
            let refutes = |about: Estimate| about.refutes(trial.load, trial.duration, goal);
            !trial.fails(goal) && estimate.is_some_and(refutes)
        };
        let needs_full_length = trials.iter().any(is_refuted);
        let loads = trials.loads().into_iter().map(|load| {
            let class = Class::of(trials.at(load), goal);
            let fails = match class {
                Class::Lower => false,
                Class::Upper => true,
                Class::Undecided => most_fail(trials.at(load), goal),
            };
            Load { rate: load, class, fails }
        });
        let is_hidden = |load: u64| estimate.is_some_and(|about| about.hides(load, goal));
        let is_told = |load: &Load| {
            load.fails || !(is_hidden(load.rate) || trials.at(load.rate).all(is_refuted))
        };
        Self { goal, trials, loads: loads.filter(is_told).collect(), needs_full_length }
    }

    /// Whether only full-length trials tell what passes.
    pub(super) const fn needs_full_length(&self) -> bool {
        self.needs_full_length
    }

    /// The lowest load that fails.
    pub(super) fn upper(&self) -> Option<u64> {
        self.loads.iter().find(|load| load.fails).map(|load| load.rate)
    }

    /// The highest load below it, which passes.
    pub(super) fn lower(&self) -> Option<u64> {
        self.loads.iter().take_while(|load| !load.fails).last().map(|load| load.rate)
    }

    /// Loads that pass above `load`, and loads that fail below it: how often it was wrong.
    pub(super) fn surprises(&self, load: f64) -> (u32, u32) {
        let count = |is_one: &dyn Fn(&Load) -> bool| {
            u32::try_from(self.loads.iter().filter(|load| is_one(load)).count()).unwrap_or(u32::MAX)
        };
        let above = count(&|one| !one.fails && one.rate as f64 > load);
        (above, count(&|one| one.fails && (one.rate as f64) < load))
    }

    /// What RFC 9971 makes of a load.
    pub(super) fn class(&self, load: u64) -> Class {
        let found = self.loads.iter().find(|one| one.rate == load);
        found.map_or(Class::Undecided, |one| one.class)
    }

    /// The highest load above `load` that passes in trials of half the full length at least: where
    /// `load` fails, that is a loss inversion (RFC 9971).
    pub(super) fn passes_above(&self, load: u64) -> Option<u64> {
        let above = self.loads.iter().filter(|one| one.rate > load && !one.fails);
        let tells = |point: &Point| {
            let is_long = point.is_as_long_as(self.goal.final_trial / 2);
            is_long && point.could_fail(self.goal) && !point.fails(self.goal)
        };
        above.rev().map(|one| one.rate).find(|rate| self.trials.at(*rate).any(tells))
    }

    /// The relevant bounds: the lowest load that is an upper bound, and the highest that is a lower
    /// bound below it. Loads above that pass are a coincidence.
    pub(super) fn relevant(&self) -> (Option<u64>, Option<u64>) {
        let upper = self.loads.iter().find(|load| load.class == Class::Upper);
        let below = |load: &&Load| upper.is_none_or(|upper| load.rate < upper.rate);
        let lower = self.loads.iter().filter(below).rfind(|load| load.class == Class::Lower);
        (lower.map(|load| load.rate), upper.map(|load| load.rate))
    }

    /// The rate that was forwarded of a load.
    pub(super) fn conditional_throughput(&self, load: u64) -> BitRate {
        rate(whole(load as f64 * forwarded(self.trials.at(load), self.goal)))
    }
}

/// Whether more than half of the longest trials fail.
fn most_fail<'a>(trials: impl Iterator<Item = &'a Point>, goal: &SearchGoal) -> bool {
    let trials: Vec<_> = trials.collect();
    let longest = trials.iter().map(|trial| trial.duration).max().unwrap_or_default();
    let long: Vec<_> = trials.iter().filter(|trial| trial.is_as_long_as(longest)).collect();
    long.iter().filter(|trial| trial.fails(goal)).count() * 2 > long.len()
}
