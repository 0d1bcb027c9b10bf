//! `xps-off`: CPUs share queues for sending.

use measurement::Work;
use measurement::remedy::Setting;

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::case::{Device, cpu};
use crate::words::{count, percent};

const PAGE: Page = Page {
    id: RuleId::XpsOff,
    title: "XPS off: CPUs share TX queues",
    what: "An interface has several queues for sending and XPS is off.",
    why: "Then a hash chooses the queue of a flow: CPUs wait for each other's locks, and what was \
          sent is cleaned up by another CPU than the one that made it.",
    evidence: "Queues for sending and their `xps_cpus`; with a profile the share of locks.",
    remedy: "One CPU, or one group of CPUs, to each `/sys/class/net/IF/queues/tx-N/xps_cpus`.",
    source: "Documentation/networking/scaling.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Placement, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    case.senders().filter_map(|device| finding(case, &device)).collect()
}

fn finding(case: &Case<'_>, device: &Device<'_, '_>) -> Option<Found> {
    let steering = device.interface.steering.iter().filter(|one| one.queue.starts_with("tx-"));
    let steering: Vec<_> = steering.collect();
    let online: Vec<u32> =
        cpu::online(&device.host.evidence.inventory).map(|cpu| cpu.number).collect();
    let cpus = online.len();
    let is_off = steering.len() > 1 && cpus > 1 && steering.iter().all(|one| one.cpus.is_empty());
    let attribution = case.attribution(device.host.role());
    let locks = attribution.and_then(|all| all.work.get(&Work::Locking)).map(|cost| cost.share);
    let text = format!("XPS is off on {}: CPUs share TX queues", device.name());
    let found = match locks {
        _ if !is_off => return None,
        Some(share) if share >= HOT => Found::candidate(text)
            .explaining(share)
            .seen(format!("locks took {} of the busy time", percent(share))),
        // Nothing waits there, or there is nothing that could.
        Some(_) => return None,
        None if case.test.is_some_and(|test| test.record.streams.len() < 2) => return None,
        None => Found::note(text),
    };
    let queues = count(steering.len() as u64);
    let found = found
        .at(device.host.role())
        .seen(format!("{queues} TX queues, xps_cpus is 0 for all, {cpus} CPUs"))
        .remedy("give each queue a CPU");
    let numbers = steering.iter().filter_map(|one| one.queue.strip_prefix("tx-")?.parse().ok());
    Some(numbers.zip(online.iter().cycle()).fold(found, |found, (queue, cpu)| {
        let (interface, cpus) = (device.interface.name.clone(), [*cpu].into_iter().collect());
        found.change_from(Setting::XpsCpus { interface, queue, cpus }, Some(0))
    }))
}

/// Of the busy time. To be calibrated.
const HOT: f64 = 0.1;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| {
        queues(record);
        let stream = record.streams[0].clone();
        record.streams.push(measurement::record::StreamRecord { id: 2, ..stream });
    })
    .silent(queues);

#[cfg(test)]
fn queues(record: &mut measurement::TestRecord) {
    use measurement::host::{Cpu, Steering};
    let host = crate::test_record::host(record, &measurement::Role::Here);
    host.inventory.cpus = (0..2).map(|number| Cpu { number, ..Cpu::default() }).collect();
    let steering = |queue| Steering { queue: format!("tx-{queue}"), ..Steering::default() };
    host.inventory.interfaces[0].steering = (0..2).map(steering).collect();
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use measurement::verdict::Cost;
    use measurement::{Attribution, ProfileSource, Role};

    use super::*;
    use crate::accounts::Test;
    use crate::test_record;

    fn found(locks: f64) -> Vec<Found> {
        let mut record = test_record::tcp();
        queues(&mut record);
        let cost = Cost { share: locks, nanos_per_kib: None };
        let attribution = Attribution {
            host: Role::Here,
            source: ProfileSource::default(),
            samples: 1_000,
            labelled: 1.0,
            work: BTreeMap::from([(Work::Locking, cost)]),
            cpus: Vec::new(),
            what_if: Vec::new(),
        };
        let test = Test::from_record(&record);
        check(&Case::of_test(&test, &[attribution]))
    }

    #[test]
    fn locks_that_cost_nothing_are_none() {
        assert_eq!(found(0.01), []);
        assert_eq!(found(0.2)[0].certainty, measurement::Certainty::Candidate);
    }
}
