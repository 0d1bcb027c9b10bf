//! What limits: a rule for each thing that can, and one sentence from what they find.
//!
//! A rule is one file in `rules/`, which has the name of its slug: its page, one pure check of a
//! [`Case`], a record that fires it and one that nearly does; its line in [`rules::RULES`], and
//! its name, a line of [`measurement::RuleId`]. What follows from what is told by its [`class`].
//! A cause that also makes a result doubtful has the name and the page of its rule of trust.

use std::fmt::Display;

use measurement::host::Role;
use measurement::remedy::{Change, Remedy, Setting};
use measurement::verdict::Finding;
use measurement::{Bound, Certainty, Direction, Effect, Page, RuleId, TestRecord};

use crate::accounts::Test;
use class::{Class, Kind, UsualEffect};

mod bound;
mod case;
mod class;
pub(crate) mod deciding;
mod experiment;
#[cfg(test)]
mod fixture;
mod hops;
mod in_flight;
mod load;
mod rank;
mod response;
mod rules;
mod silent;
mod transfer;

mod window;

pub(crate) use case::Case;
#[cfg(test)]
pub(crate) use fixture::firing_records;
pub(crate) use rank::{changeable, verdict};

/// A rule.
pub(crate) struct Rule {
    /// It in words.
    page: &'static Page,
    /// Class of the cause, which says what the cause brings about.
    class: Class,
    /// Effect of the cause on a test where the check does not compute it.
    effect: UsualEffect,
    /// Whether one end sees by it a limit that is at the other end.
    is_seen_from_the_other_end: bool,
    check: fn(&Case<'_>) -> Vec<Found>,
}

impl Rule {
    /// A rule with the effect and the vantage of its class.
    const fn new(page: &'static Page, class: Class, check: fn(&Case<'_>) -> Vec<Found>) -> Self {
        let effect = class.usual_effect();
        let is_seen_from_the_other_end = class.is_seen_from_the_other_end();
        Self { page, class, effect, is_seen_from_the_other_end, check }
    }

    /// The rule with another effect than its class.
    const fn with_effect(mut self, effect: UsualEffect) -> Self {
        self.effect = effect;
        self
    }

    /// The rule, by which one end sees a limit that is at the other end.
    const fn seen_from_the_other_end(mut self) -> Self {
        self.is_seen_from_the_other_end = true;
        self
    }
}

/// What a check found: the finding of its rule, but for the rule's name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Found {
    certainty: Certainty,
    share: f64,
    effect: Effect,
    host: Option<Role>,
    direction: Option<Direction>,
    text: String,
    evidence: Vec<String>,
    remedy: Remedy,
}

impl Found {
    /// The evidence shows that this limits. `text` is a sentence without a full stop.
    fn limit(text: impl Into<String>) -> Self {
        Self::new(Certainty::Limit, text.into())
    }

    /// This could be what limits.
    fn candidate(text: impl Into<String>) -> Self {
        Self::new(Certainty::Candidate, text.into())
    }

    /// This is to be known: it would limit at another rate, or costs little.
    fn note(text: impl Into<String>) -> Self {
        Self::new(Certainty::Note, text.into())
    }

    const fn new(certainty: Certainty, text: String) -> Self {
        Self {
            certainty,
            share: 0.0,
            effect: Effect::Unknown,
            host: None,
            direction: None,
            text,
            evidence: Vec::new(),
            remedy: Remedy { sentence: String::new(), changes: Vec::new() },
        }
    }

    /// On which host the cause is, which need not be the one that shows it.
    fn at(mut self, host: &Role) -> Self {
        self.host = Some(host.clone());
        self
    }

    /// Only in one direction.
    const fn going(mut self, direction: Direction) -> Self {
        self.direction = Some(direction);
        self
    }

    /// How much of the loss it explains, from 0 to 1.
    const fn explaining(mut self, share: f64) -> Self {
        self.share = share.clamp(0.0, 1.0);
        self
    }

    /// The rate that it allows.
    fn allowing(mut self, bound: Bound) -> Self {
        self.effect = Effect::Rate(bound);
        self
    }

    /// A counter or a setting that shows it.
    fn seen(mut self, evidence: impl Into<String>) -> Self {
        self.evidence.push(evidence.into());
        self
    }

    /// What to change: advice, or advice with its settings.
    fn remedy(mut self, remedy: impl Into<Remedy>) -> Self {
        self.remedy = remedy.into();
        self
    }

    /// A setting that follows the advice: on the host of the cause, as [`Self::at`] has named
    /// it; options are those of the client.
    fn change(self, setting: Setting) -> Self {
        self.change_from(setting, None::<String>)
    }

    /// Such a setting, with the value that it has now.
    fn change_from(mut self, setting: Setting, current: Option<impl Display>) -> Self {
        let host = self.host.as_ref().filter(|_| !setting.is_option()).unwrap_or(&Role::Here);
        let change = Change::new(host, setting);
        self.remedy.changes.push(match current {
            Some(current) => change.replacing(current),
            None => change,
        });
        self
    }

    fn into_finding(self, page: &Page) -> Finding {
        Finding {
            rule: page.id,
            certainty: self.certainty,
            share: self.share,
            effect: self.effect,
            host: self.host,
            direction: self.direction,
            text: self.text,
            evidence: self.evidence,
            remedy: self.remedy,
        }
    }
}

/// Whether both ends of a test tell that no CPU of theirs was full.
pub(crate) fn have_cpu_time(record: &TestRecord) -> bool {
    let test = Test::from_record(record);
    let case = Case::of_test(&test, &[]);
    let ends = [Role::Here, Role::Peer];
    ends.iter().all(|role| load::has_time(&case, role).unwrap_or(false))
}

/// Whether an end of a test does not tell what would decide: its counters, or what its CPUs did.
pub(crate) fn lacks_evidence(record: &TestRecord) -> bool {
    let attributions = crate::attribution::attributions(record);
    let test = Test::from_record(record);
    deciding::missing_evidence(&Case::of_test(&test, &attributions)).is_some()
}

/// The page of each rule.
pub(crate) fn pages() -> impl Iterator<Item = &'static Page> {
    rules::RULES.iter().map(|rule| rule.page)
}

/// What all rules find, the most telling first: the surest; causes before what they bring
/// about; what explains most; and then in the order of the way.
pub(crate) fn findings(case: &Case<'_>) -> Vec<Finding> {
    let found = rules::RULES.iter().flat_map(|rule| {
        let found = (rule.check)(case).into_iter();
        found.map(|found| found.into_finding(rule.page))
    });
    let mut found: Vec<_> = found.collect();
    bound::weigh(case, &mut found);
    experiment::weigh(case, &mut found);
    rank::in_order(case, found)
}

/// Whether what `cause` finds brings about what `finding` finds.
fn brings_about(cause: RuleId, finding: RuleId) -> bool {
    let follows = || Some(class_of(cause)?.brings_about().contains(&class_of(finding)?));
    class::within(cause).contains(&finding) || follows().unwrap_or(false)
}

/// The class of `rule`. `None`: it is no rule of limits.
fn class_of(rule: RuleId) -> Option<Class> {
    rule_of(rule).map(|rule| rule.class)
}

fn rule_of(rule: RuleId) -> Option<&'static Rule> {
    rules::RULES.iter().find(|one| one.page.id == rule)
}

/// How telling the findings of `rule` are.
fn kind_of(rule: RuleId) -> Kind {
    class_of(rule).map_or(Kind::Particular, Class::kind)
}

/// Effect of the findings of `rule` on a test where the rule does not compute it.
fn effect_of(rule: RuleId) -> UsualEffect {
    rule_of(rule).map_or(UsualEffect::Unknown, |rule| rule.effect)
}

/// Whether the findings of `rule` are that threads of their own host which move payload take much CPU
/// time.
fn takes_time_of_workers(rule: RuleId) -> bool {
    class_of(rule).is_some_and(Class::takes_time_of_workers)
}

/// Whether the findings of `rule` are about CPU time, or about threads that wait for it.
pub(crate) fn is_about_cpu(rule: RuleId) -> bool {
    use UsualEffect::{CpuTime, Passed, Waiting};
    takes_time_of_workers(rule) || matches!(effect_of(rule), CpuTime | Waiting | Passed)
}

/// Whether what `rule` finds takes CPU time now more and now less, so that a rate that it limits varies.
pub(crate) fn varies_a_rate(rule: RuleId) -> bool {
    takes_time_of_workers(rule)
        || effect_of(rule) == UsualEffect::Waiting
        || rule == RuleId::CpuSteal
}

/// Whether an experiment with CPU time and pacing can contradict the findings of `rule`.
pub(crate) fn is_open_to_experiment(rule: RuleId) -> bool {
    is_about_cpu(rule) || matches!(class_of(rule), Some(Class::Path | Class::Loss | Class::Symptom))
}

/// Whether `rule` counts what a packet filter, a policer or a table of connections drops.
fn is_of_a_filter(rule: RuleId) -> bool {
    class_of(rule) == Some(Class::Filter)
}

/// Whether one end sees by `rule` a limit that is at the other: waits of a sender, a rate that
/// was not sent, loss.
fn is_seen_from_the_other_end(rule: RuleId) -> bool {
    rule_of(rule).is_some_and(|rule| rule.is_seen_from_the_other_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_within_a_class_are_of_that_class() {
        for cause in RuleId::ALL {
            let are_of_it =
                class::within(*cause).iter().all(|finding| class_of(*finding) == class_of(*cause));
            assert!(are_of_it, "{cause}");
        }
    }

    #[test]
    fn no_rule_brings_about_its_own_cause() {
        let mut open: Vec<RuleId> = RuleId::ALL.to_vec();
        // Rules from which nothing open follows are closed until none is left.
        while !open.is_empty() {
            let leads = |cause: &RuleId| open.iter().any(|other| brings_about(*cause, *other));
            let left: Vec<_> = open.iter().copied().filter(leads).collect();
            assert!(left.len() < open.len(), "{left:?}");
            open = left;
        }
    }
}
