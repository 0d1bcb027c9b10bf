//! `channels-unused`: an interface uses fewer queues than it has.

use measurement::remedy::{Channels, Setting};

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::case::{Device, cpu};
use crate::words::{count, counted, percent};

const PAGE: Page = Page {
    id: RuleId::ChannelsUnused,
    title: "Fewer channels (queues) in use than the device has",
    what: "The device can run more channels than it does, up to the number of CPUs; with a test \
           only where a core was full of interrupts.",
    why: "Each queue has an interrupt and with it a core; so many cores receive at once.",
    evidence: "`ethtool -l IF`, the CPUs that are online.",
    remedy: "`ethtool -L IF combined N`; the link is down for a moment.",
    source: "Documentation/networking/scaling.rst, ethtool(8)",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Placement, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    case.hardware().filter_map(|device| finding(case, &device)).collect()
}

fn finding(case: &Case<'_>, device: &Device<'_, '_>) -> Option<Found> {
    let cpus = cpu::online(&device.host.evidence.inventory).count() as u64;
    let channels = ["combined", "rx"].iter().find_map(|kind| {
        let channels = device.interface.channels.get(*kind)?;
        let useful = channels.most?.min(cpus);
        (channels.current < useful).then_some((*kind, channels.current, useful))
    });
    let (kind, current, useful) = channels?;
    let text = format!(
        "{} uses {} of {} possible",
        device.name(),
        counted(current, "queue"),
        count(useful)
    );
    let found = match (case.test, cpu::taken_by_interrupts(device.host)) {
        (None, _) => Found::note(text),
        (Some(_), Some(load)) if case.is_open() => Found::candidate(text).seen(format!(
            "{} of CPU {} went to interrupts and softirq",
            percent(load.interrupted()),
            load.cpu
        )),
        _ => return None,
    };
    let found =
        found.at(device.host.role()).seen(format!("{kind} {current}, {} CPUs", count(cpus)));
    let interface = device.interface.name.clone();
    let kind = if kind == "rx" { Channels::Rx } else { Channels::Combined };
    let found = found.remedy("use more of its channels; the link is down for a moment");
    Some(found.change_from(Setting::Channels { interface, kind, count: useful }, Some(current)))
}

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| {
        crate::test_record::fill_with_interrupts(record, &measurement::Role::Peer);
        channels(record);
    })
    .silent(channels);

#[cfg(test)]
fn channels(record: &mut measurement::TestRecord) {
    let channels = measurement::host::Measure { current: 1, most: Some(8) };
    let host = crate::test_record::host(record, &measurement::Role::Peer);
    let cpu = |number| measurement::host::Cpu { number, ..measurement::host::Cpu::default() };
    host.inventory.cpus = vec![cpu(0), cpu(1)];
    host.inventory.interfaces[0].channels.insert("combined".to_owned(), channels);
}
