//! Whether to believe a result: a rule for each thing that makes it say something else than
//! it seems to.
//!
//! A rule is one file, which has the name of its slug: its page (what it finds, why that
//! matters, by which evidence, what to do, and its source), one pure check; one line in
//! [`RULES`], and its name in [`measurement::RuleId`]. Rules that only inform have the stamp
//! [`Stamp::Valid`].

use measurement::{Gap, Order, Page, Reason, Role, RuleId, Stamp};

use crate::accounts::Test;

mod cgroup_cpu_quota;
mod clock_offset_uncertain;
mod concurrent_tests;
mod congestion_control_differs;
mod counters_contradict;
mod cpu_frequency_drop;
mod cpu_steal;
mod foreign_traffic;
mod host_counters_missing;
mod interval_mismatch;
mod jitter_of_receiver;
mod link_flap;
mod loss_location;
mod other_processes;
mod peer_version_defects;
mod process_stopped;
mod rate_granularity;
mod reassembly_failures;
mod receiver_result_missing;
mod run_delay;
mod sender_below_rate;
mod sender_bursts;
mod settled;
mod socket_buffer_differs;
mod spurious_retransmissions;
mod tail_loss;
mod test_incomplete;
mod udp_pacing_without_fq;
mod virtual_path;
mod warm_up_in_mean;
mod worker_saturated;
mod zerocopy_copied;

pub(crate) use settled::settle;

/// A rule.
pub(crate) struct Rule {
    /// It in words.
    page: &'static Page,
    check: fn(&Test<'_>) -> Vec<Finding>,
}

#[cfg(test)]
impl Rule {
    pub(crate) fn found(&self, test: &Test<'_>) -> Vec<Finding> {
        (self.check)(test)
    }
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// Something that a reader must know.
    Reason {
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
        Self::Reason { stamp: Stamp::Valid, host: host.cloned(), text }
    }

    fn suspect(host: Option<&Role>, text: String) -> Self {
        Self::Reason { stamp: Stamp::Suspect, host: host.cloned(), text }
    }

    fn invalid(host: Option<&Role>, text: String) -> Self {
        Self::Reason { stamp: Stamp::Invalid, host: host.cloned(), text }
    }

    fn unchecked(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Unchecked(Gap { what: what.into(), why: why.into() })
    }
}

/// The reasons that all rules find, and the gaps that they could not check.
pub(crate) fn check(test: &Test<'_>) -> (Vec<Reason>, Vec<Gap>) {
    let (mut reasons, mut unchecked) = (Vec::new(), Vec::new());
    for rule in RULES {
        for finding in (rule.check)(test) {
            match finding {
                Finding::Reason { stamp, host, text } => {
                    reasons.push(Reason { rule: rule.page.id, stamp, host, text });
                }
                Finding::Unchecked(gap) => unchecked.push(gap),
            }
        }
    }
    (reasons, unchecked)
}

/// The gravest reasons first.
pub(crate) fn in_order(reasons: &mut [Reason]) {
    reasons.order_by_key(|reason| std::cmp::Reverse(reason.stamp));
}

/// The page of each rule.
pub(crate) fn pages() -> impl Iterator<Item = &'static Page> {
    RULES.iter().map(|rule| rule.page)
}

/// Every rule; of reasons that are as grave as each other the first is told first.
const RULES: &[Rule] = &[
    test_incomplete::RULE,
    receiver_result_missing::RULE,
    counters_contradict::RULE,
    sender_below_rate::RULE,
    worker_saturated::RULE,
    process_stopped::RULE,
    run_delay::RULE,
    cpu_steal::RULE,
    cgroup_cpu_quota::RULE,
    cpu_frequency_drop::RULE,
    other_processes::RULE,
    foreign_traffic::RULE,
    concurrent_tests::RULE,
    link_flap::RULE,
    loss_location::RULE,
    tail_loss::RULE,
    socket_buffer_differs::RULE,
    reassembly_failures::RULE,
    udp_pacing_without_fq::RULE,
    sender_bursts::RULE,
    rate_granularity::RULE,
    congestion_control_differs::RULE,
    jitter_of_receiver::RULE,
    clock_offset_uncertain::RULE,
    interval_mismatch::RULE,
    warm_up_in_mean::RULE,
    spurious_retransmissions::RULE,
    zerocopy_copied::RULE,
    peer_version_defects::RULE,
    virtual_path::RULE,
    host_counters_missing::RULE,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{judge, test_record};

    #[test]
    fn a_clean_run_is_valid_and_nothing_is_said() {
        for record in [test_record::udp(), test_record::tcp()] {
            let judgement = judge(&record);
            assert_eq!(judgement.stamp, Stamp::Valid);
            assert_eq!(judgement.reasons, [], "{:?}", record.plan.transport);
            assert_eq!(judgement.unchecked, []);
        }
    }

    #[test]
    fn a_clean_run_over_a_pair_of_virtual_interfaces_is_valid_and_said_to_be_in_software() {
        for mut record in [test_record::udp(), test_record::tcp()] {
            test_record::in_software(&mut record);
            let judgement = judge(&record);
            let rules: Vec<_> = judgement.reasons.iter().map(|one| one.rule).collect();
            assert_eq!((judgement.stamp, rules), (Stamp::Valid, vec![RuleId::VirtualPath]));
        }
    }

    #[test]
    fn the_gravest_reason_is_told_first_and_is_the_stamp() {
        let mut record = test_record::udp();
        test_record::in_software(&mut record);
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
