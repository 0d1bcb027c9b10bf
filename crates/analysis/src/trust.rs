//! Whether to believe a result: a rule for each thing that makes it say something else than
//! it seems to.
//!
//! A rule is one file: its page (what it finds, why that matters, by which evidence, what to
//! do, and its source), one pure check; one line in [`RULES`], and its name in
//! [`measurement::RuleId`]. Rules that only inform have the stamp [`Stamp::Valid`].

use measurement::{Gap, Page, Reason, Role, RuleId, Stamp};

use crate::accounts::Test;

mod buffer;
mod bursts;
pub(crate) mod clock_speed;
mod coarse_rate;
mod congestion;
mod contradiction;
mod copied;
mod ending;
pub(crate) mod foreign_traffic;
mod fragments;
mod hosts;
mod jitter;
mod kernel_pacing;
mod link_flap;
pub(crate) mod loss_place;
mod old_peer;
mod one_way_clock;
pub(crate) mod others_cpu;
pub(crate) mod quota;
pub(crate) mod run_delay;
pub(crate) mod sender_short;
mod shared;
pub(crate) mod software_path;
mod spans;
mod spurious;
pub(crate) mod steal;
mod tail;
mod unconfirmed;
mod warm_up;
pub(crate) mod worker_busy;

/// A rule.
pub(crate) struct Rule {
    /// It in words.
    page: &'static Page,
    check: fn(&Test<'_>) -> Vec<Finding>,
}

#[cfg(test)]
impl Rule {
    pub(crate) fn found(&self, evidence: &Test<'_>) -> Vec<Finding> {
        (self.check)(evidence)
    }
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// Something that a reader must know.
    Told {
        /// What it asks for.
        stamp: Stamp,
        /// Which host it is about.
        host: Option<Role>,
        /// One sentence, and what to do.
        text: String,
    },
    /// It could not be checked.
    Unchecked(Gap),
}

impl Finding {
    fn note(host: Option<&Role>, text: String) -> Self {
        Self::Told { stamp: Stamp::Valid, host: host.cloned(), text }
    }

    fn suspect(host: Option<&Role>, text: String) -> Self {
        Self::Told { stamp: Stamp::Suspect, host: host.cloned(), text }
    }

    fn invalid(host: Option<&Role>, text: String) -> Self {
        Self::Told { stamp: Stamp::Invalid, host: host.cloned(), text }
    }

    fn unchecked(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Unchecked(Gap { what: what.into(), why: why.into() })
    }
}

/// What all rules say: reasons, the gravest first, and what could not be checked.
pub(crate) fn check(evidence: &Test<'_>) -> (Vec<Reason>, Vec<Gap>) {
    let (mut reasons, mut unchecked) = (Vec::new(), Vec::new());
    for rule in RULES {
        for finding in (rule.check)(evidence) {
            match finding {
                Finding::Told { stamp, host, text } => {
                    reasons.push(Reason { rule: rule.page.id, stamp, host, text });
                }
                Finding::Unchecked(gap) => unchecked.push(gap),
            }
        }
    }
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.stamp));
    (reasons, unchecked)
}

/// The page of each rule.
pub(crate) fn pages() -> impl Iterator<Item = &'static Page> {
    RULES.iter().map(|rule| rule.page)
}

/// Every rule; of reasons that are as grave as each other the first is told first.
const RULES: &[Rule] = &[
    ending::RULE,
    unconfirmed::RULE,
    contradiction::RULE,
    sender_short::RULE,
    worker_busy::RULE,
    run_delay::RULE,
    steal::RULE,
    quota::RULE,
    clock_speed::RULE,
    others_cpu::RULE,
    foreign_traffic::RULE,
    shared::RULE,
    link_flap::RULE,
    loss_place::RULE,
    tail::RULE,
    buffer::RULE,
    fragments::RULE,
    kernel_pacing::RULE,
    bursts::RULE,
    coarse_rate::RULE,
    congestion::RULE,
    jitter::RULE,
    one_way_clock::RULE,
    spans::RULE,
    warm_up::RULE,
    spurious::RULE,
    copied::RULE,
    old_peer::RULE,
    software_path::RULE,
    hosts::RULE,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{judge, scene};

    #[test]
    fn a_clean_run_is_valid_and_nothing_is_said() {
        for record in [scene::udp(), scene::tcp()] {
            let judgement = judge(&record);
            assert_eq!(judgement.stamp, Stamp::Valid);
            assert_eq!(judgement.reasons, [], "{:?}", record.plan.transport);
            assert_eq!(judgement.unchecked, []);
        }
    }

    #[test]
    fn a_clean_run_over_a_pair_of_virtual_interfaces_is_valid_and_said_to_be_in_software() {
        for mut record in [scene::udp(), scene::tcp()] {
            scene::in_software(&mut record);
            let judgement = judge(&record);
            let rules: Vec<_> = judgement.reasons.iter().map(|one| one.rule).collect();
            assert_eq!((judgement.stamp, rules), (Stamp::Valid, vec![RuleId::VirtualPath]));
        }
    }

    #[test]
    fn the_gravest_reason_is_told_first_and_is_the_stamp() {
        let mut record = scene::udp();
        scene::in_software(&mut record);
        record.outcome.directions[0].delivered = None;
        let judgement = judge(&record);
        assert_eq!(judgement.stamp, Stamp::Invalid);
        assert!(judgement.reasons.is_sorted_by_key(|reason| std::cmp::Reverse(reason.stamp)));
        assert_eq!(judgement.reasons[0].rule, RuleId::ReceiverResultMissing);
    }

    #[test]
    fn no_two_rules_have_one_name() {
        let mut ids: Vec<_> = RULES.iter().map(|rule| rule.page.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), RULES.len());
    }
}
