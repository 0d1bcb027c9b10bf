//! Findings in the light of an experiment: a finding that it contradicts is no limit.

use measurement::experiment::end_of;
use measurement::verdict::Finding;
use measurement::{Certainty, Elasticity, Hand, Role, RuleId};

use super::{Case, takes_time_of_workers, transfer, varies_a_rate};
use crate::words::{self, percent};

/// How the rate of a test followed the hands of an experiment, if there was one.
pub(super) struct Answers<'a> {
    elasticities: &'a [Elasticity],
    sender: Role,
}

impl<'a> Answers<'a> {
    /// Reads the answers of a test in one direction. `None`: no experiment was run.
    pub(super) fn of(case: &Case<'a>) -> Option<Self> {
        let elasticities = &case.test?.record.trials.elasticities;
        let [flow] = case.flows() else { return None };
        (!elasticities.is_empty()).then(|| Self { elasticities, sender: flow.sender() })
    }

    fn of_hand(&self, hand: Hand) -> Option<&'a Elasticity> {
        self.elasticities.iter().find(|one| one.hand == hand)
    }

    /// How the rate followed the CPU time of the workers of an end. `None`: that hand was not used.
    pub(super) fn of_cpu(&self, role: &Role) -> Option<&'a Elasticity> {
        let hand = [Hand::SenderCpu, Hand::ReceiverCpu];
        let hand = hand.into_iter().find(|hand| end_of(*hand, &self.sender) == *role)?;
        self.of_hand(hand)
    }

    /// Whether less CPU time for the workers of an end was shown to change nothing.
    pub(super) fn has_time(&self, role: &Role) -> bool {
        self.of_cpu(role).is_some_and(Elasticity::is_ignored)
    }

    /// The ends whose workers' CPU time the rate follows, with how much.
    pub(super) fn short_of_time(&self) -> impl Iterator<Item = (Role, &'a Elasticity)> {
        let ends = [Role::Here, Role::Peer].into_iter();
        let ends = ends.filter_map(|role| Some((role.clone(), self.of_cpu(&role)?)));
        ends.filter(|(_, one)| one.is_followed())
    }

    /// The evidence, in words, that less CPU time for an end that was asked changes nothing. `None`: there
    /// is no such evidence.
    fn no_end(&self) -> Option<String> {
        let asked = self.of_ends();
        let have_time = !asked.is_empty() && asked.iter().all(|one| one.is_ignored());
        have_time.then(|| {
            let ends: Vec<_> = asked.iter().map(|one| self.in_words(one)).collect();
            format!("slower ends change nothing ({})", ends.join(", "))
        })
    }

    fn of_ends(&self) -> Vec<&'a Elasticity> {
        let ends = [Hand::SenderCpu, Hand::ReceiverCpu].into_iter();
        ends.filter_map(|hand| self.of_hand(hand)).collect()
    }

    /// The evidence, in words, that the path makes the rate, and neither end does. `None`: there is no such
    /// evidence.
    pub(super) fn path(&self, case: &Case<'_>) -> Option<String> {
        self.queue().or_else(|| self.only_the_path_left(case))
    }

    /// Neither end is the limit, while the sender waits for its congestion window, at an even rate that a
    /// queue or loss goes with.
    fn only_the_path_left(&self, case: &Case<'_>) -> Option<String> {
        let ends = self.no_end().filter(|_| self.of_ends().len() == 2)?;
        let transfers = transfer::wanting(case);
        let [transfer] = &transfers[..] else { return None };
        let is_left = transfer.shares().congestion_window >= NEARLY_ALWAYS;
        let shows = transfer.has_queue() || transfer.account.retransmitted_segments > 0;
        let is_it = is_left && shows && transfer.is_even(case);
        is_it.then(|| format!("{ends}, and the rate is even"))
    }

    /// A queue makes the rate.
    fn queue(&self) -> Option<String> {
        let paced = self.of_hand(Hand::Pacing).filter(|paced| paced.is_followed())?;
        self.no_end().map(|ends| {
            format!(
                "{ends}, and {} of its queue or loss goes at {} of the rate",
                percent(paced.value.min(1.0)),
                percent(Hand::Pacing.rest())
            )
        })
    }

    /// `the server's CPU 0.01 ± 0.03`.
    pub(super) fn in_words(&self, elasticity: &Elasticity) -> String {
        format!("{}'s CPU {elasticity}", words::host(&end_of(elasticity.hand, &self.sender)))
    }
}

/// Takes the certainty of findings that the experiment contradicts, and says so; without one of those
/// that a queue with an even rate contradicts.
pub(super) fn weigh(case: &Case<'_>, found: &mut [Finding]) {
    let Some(answers) = Answers::of(case) else { return settle(case, found) };
    let path = answers.path(case);
    for finding in found {
        if let Some(path) = path.as_ref().filter(|_| varies_a_rate(finding.rule)) {
            finding.certainty = Certainty::Note;
            finding.evidence.push(format!("an experiment: {path}"));
        } else if let Some(contradiction) = contradiction(&answers, finding) {
            finding.certainty = Certainty::Note;
            finding.evidence.push(contradiction);
        }
    }
}

/// Takes the certainty of findings of CPU time where a queue stands that drains at an even rate.
fn settle(case: &Case<'_>, found: &mut [Finding]) {
    let transfers = transfer::wanting(case);
    if transfers.is_empty() || !transfers.iter().all(|transfer| transfer.is_settled(case)) {
        return;
    }
    for finding in found.iter_mut().filter(|finding| varies_a_rate(finding.rule)) {
        finding.certainty = Certainty::Note;
        finding.evidence.push("the rate was even while a queue stood".to_owned());
    }
}

/// Share of the time.
const NEARLY_ALWAYS: f64 = 0.9;

/// The contradiction to a finding, in words.
fn contradiction(answers: &Answers<'_>, finding: &Finding) -> Option<String> {
    let role = finding.host.as_ref().filter(|_| takes_time_of_workers(finding.rule));
    if let Some(role) = role.filter(|role| answers.has_time(role)) {
        let follows = answers.of_cpu(role)?;
        return Some(format!("an experiment: less CPU time there changes nothing ({follows})"));
    }
    let (_, elasticity) =
        answers.short_of_time().next().filter(|_| finding.rule == RuleId::PathRateLimit)?;
    Some(format!("an experiment: the rate follows {}", answers.in_words(elasticity)))
}
