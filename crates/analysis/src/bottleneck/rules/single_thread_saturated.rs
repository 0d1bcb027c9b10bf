//! `single-thread-saturated`: one thread is full, and other CPUs have nothing to do.

use measurement::Role;
use measurement::remedy::Setting;

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::bound;
use crate::bottleneck::experiment::Answers;
use crate::bottleneck::load;
use crate::facts::workers;
use crate::words::{self, counted, percent};

const PAGE: Page = Page {
    id: RuleId::SingleThreadSaturated,
    title: "One thread saturated while other CPUs idle",
    what: "A worker had no time left, it ran the only stream of its direction, and at least one \
           other CPU of that host was busy for less than half of the time; or the rate followed when \
           an experiment took CPU time from the threads of that host.",
    why: "A stream is one flow, and a flow is one thread at each end: it goes as fast as one core.",
    evidence: "The worker's time; time of the CPUs; an experiment.",
    remedy: "More streams (`-P 4`): each may have a core of its own.",
    source: "",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Full, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    if case.wanting().next().is_none() {
        return Vec::new();
    }
    let by_load = [Role::Here, Role::Peer];
    let by_load: Vec<_> = by_load.iter().filter_map(|role| finding(case, role)).collect();
    if by_load.is_empty() { by_an_experiment(case) } else { by_load }
}

/// The rate follows the CPU time of an end, however full its CPUs look.
fn by_an_experiment(case: &Case<'_>) -> Vec<Found> {
    let Some(answers) = Answers::of(case) else { return Vec::new() };
    let found = answers.short_of_time().map(|(role, elasticity)| {
        let found = Found::limit(format!("the threads of {} are the limit", words::host(&role)));
        let passed = bound::of_passed(case, &role, None);
        passed
            .into_iter()
            .fold(found, Found::allowing)
            .at(&role)
            .explaining(elasticity.value)
            .seen(format!("an experiment: the rate follows {}", answers.in_words(elasticity)))
            .remedy("use more streams")
            .change_from(Setting::Streams(MORE), Some(1))
    });
    found.collect()
}

fn finding(case: &Case<'_>, role: &Role) -> Option<Found> {
    let test = case.test?;
    let (number, worker) = workers::limiting(test, role)?;
    let idle = load::idle_ones(case, case.host(role)?);
    let is_alone = test.record.plan.streams == 1 && case.flows().len() == 1;
    (is_alone && idle > 0).then(|| {
        let name = words::host(role);
        Found::limit(format!("one thread is full on {name} while other CPUs idle"))
            .at(role)
            .explaining(worker.utilisation)
            .seen(format!(
                "worker {number} was busy {} of the time, {} less than half",
                percent(worker.utilisation),
                counted(idle as u64, "CPU")
            ))
            .remedy("use more streams")
            .change_from(Setting::Streams(MORE), Some(1))
    })
}

const MORE: u32 = 4;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| {
        crate::test_record::occupy(record, &Role::Peer, 0.99);
        crate::test_record::fill(crate::test_record::host(record, &Role::Peer), 0.99);
    })
    .silent(|record| {
        crate::test_record::fill(crate::test_record::host(record, &Role::Peer), 0.99);
    });
