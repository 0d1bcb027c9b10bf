//! The analysis of test records ([`judge`]): account of the datagrams, trust in the numbers, and
//! what limited the test. All functions are pure: they depend on their arguments only and do no
//! I/O.

#![forbid(unsafe_code)]

use measurement::record::Trials;
use measurement::verdict::Finding;
use measurement::{
    Conclusion, HostEvidence, Judgement, LoadCurve, Page, RateSearch, TestRecord, Verdict,
};

mod accounts;
mod attribution;
mod bottleneck;
pub mod calc;
pub mod comparison;
#[cfg(test)]
mod consistency;
pub mod copies;
mod deciding;
pub mod device;
mod elasticity;
mod evidence;
mod facts;
mod framing;
mod knee;
pub mod ladder;
mod ledger;
mod load_curve;
pub mod mesh;
mod requirements;
mod rows;
pub mod search;
#[cfg(test)]
mod searched;
mod spread;
mod steady;
mod tcp;
#[cfg(test)]
mod test_record;
mod trust;
mod words;

pub use attribution::of_profile as attribute;
pub use deciding::Deciding;
pub use elasticity::{elasticities, experiment};
pub use knee::{Carried, CurvePoint, knee};
pub use requirements::Requirements;
pub use spread::spread;

use accounts::Test;
use bottleneck::Case;

/// Judges a record: account of its datagrams, stamp (how far the result can be trusted), and
/// verdict (what limited the test).
pub fn judge(record: &TestRecord) -> Judgement {
    let test = Test::from_record(record);
    let (mut reasons, unchecked) = trust::check(&test);
    let attributions = attribution::attributions(record);
    let case = Case::of_test(&test, &attributions);
    let verdict = match at_the_limit(record) {
        Some(above) => verdict_above(&above, &case),
        None => bottleneck::verdict(&test, &case),
    };
    trust::settle(&mut reasons, &test, verdict.as_ref().is_some_and(is_elsewhere));
    trust::in_order(&mut reasons);
    Judgement {
        stamp: reasons.iter().map(|reason| reason.stamp).max().unwrap_or_default(),
        reasons,
        unchecked,
        directions: test.flows.into_iter().map(|flow| flow.account).collect(),
        attributions,
        verdict,
    }
}

/// Whether the limit is known, and is not about a CPU.
fn is_elsewhere(verdict: &Verdict) -> bool {
    let limit = verdict.findings.first().filter(|_| verdict.conclusion == Conclusion::Limited);
    limit.is_some_and(|limit| !bottleneck::is_about_cpu(limit.rule))
}

/// All findings on a record that name a change, in the order of significance: the verdict has the
/// first few findings alone. Notes are left out, and all of a test that reached the asked rate.
pub fn changeable(record: &TestRecord) -> Vec<Finding> {
    let test = Test::from_record(record);
    let attributions = attribution::attributions(record);
    bottleneck::changeable(&test, &Case::of_test(&test, &attributions))
}

/// The verdict on a trial above the rate that a search `held`.
fn verdict_above(record: &TestRecord, held: &Case<'_>) -> Option<Verdict> {
    let test = Test::from_record(record);
    let attributions = attribution::attributions(record);
    bottleneck::verdict(&test, &Case::of_test(&test, &attributions).above(held))
}

/// The trial that shows the limit of a record whose rate a search found: at the rate held little
/// is missing. None: no higher rate was tried, or the rate held loses about as much.
fn at_the_limit(record: &TestRecord) -> Option<TestRecord> {
    let search = record.trials.rate.as_ref()?;
    let above = search.above.as_ref().filter(|above| above.plan.asked() > Some(search.held))?;
    let above = (**above).clone();
    if loss(record) > f64::max(NOTICED, loss(&above) * PART) {
        return None;
    }
    let search = RateSearch { above: None, ..search.clone() };
    let trials = Trials { rate: Some(search), ..above.trials };
    Some(TestRecord { trials, ..above })
}

/// The greatest share of datagrams that was lost in one direction.
fn loss(record: &TestRecord) -> f64 {
    let ledgers = record.outcome.directions.iter().filter_map(|one| one.datagrams);
    ledgers.map(|ledger| ledger.loss()).fold(0.0, f64::max)
}

/// A share of lost datagrams that a rate without loss may have.
const NOTICED: f64 = 0.001;
/// Share of the loss at a higher rate that makes the loss independent of the rate.
const PART: f64 = 0.5;

/// Refines the verdicts on records of one run, each of which was judged before, by comparing them:
/// e.g. if all tests stop at the same rate on the wire, the path limits. Also names the further
/// measurement that would decide an undecided verdict.
pub fn judge_together(records: &mut [TestRecord]) {
    rows::refine(records);
    deciding::name(records);
}

/// The further measurement, of at most two seconds, whose result would decide what limits the first
/// of `records` whose verdict is undecided or has two explanations. `records` are those of one run,
/// after [`judge_together`]. None: no such measurement would decide, or the run has it already.
pub fn deciding_plan(records: &[TestRecord]) -> Option<Deciding> {
    deciding::plan(records)
}

/// Curves of what arrives of UDP over the load, with the knee and the most that arrived: one for runs
/// between the same hosts at three or more loads.
pub fn load_curves<'a>(records: impl IntoIterator<Item = &'a TestRecord>) -> Vec<LoadCurve> {
    load_curve::of_records(records)
}

/// Findings on what would limit the network rate of hosts, from their settings and counters alone:
/// no test has to run. The most significant is first; empty if no rule applies.
pub fn diagnose(hosts: &[HostEvidence]) -> Vec<Finding> {
    bottleneck::findings(&Case::of_hosts(hosts, &[]))
}

/// The rules whose findings set the stamp of a result: how far it can be trusted.
pub fn trust_rules() -> impl Iterator<Item = measurement::RuleId> {
    trust::pages().map(|page| page.id)
}

/// Manual pages of all rules of judgement: first those on what limits a test, then those on how far
/// its result can be trusted.
pub fn pages() -> Vec<&'static Page> {
    let mut pages: Vec<&'static Page> = bottleneck::pages().collect();
    for page in trust::pages() {
        if pages.iter().all(|other| other.id != page.id) {
            pages.push(page);
        }
    }
    pages
}

#[cfg(test)]
mod tests {
    use measurement::RuleId;

    use super::pages;

    #[test]
    fn every_rule_has_one_page() {
        let pages = pages();
        for rule in RuleId::ALL {
            // What compares runs has none: it is no rule of a record.
            let expected = usize::from(*rule != RuleId::RunsDiffer);
            assert_eq!(pages.iter().filter(|page| page.id == *rule).count(), expected, "{rule}");
        }
    }
}
