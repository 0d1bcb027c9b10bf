//! `qdisc-limit`: a queueing discipline shapes or drops.

use measurement::host::counter;
use measurement::remedy::Setting;
use measurement::{Certainty, Role};

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::accounts::Flow;
use crate::bottleneck::case::Device;
use crate::bottleneck::case::frames::{datagrams_of_shaper, payload_of_shaper};
use crate::bottleneck::case::shaping::{Scope, Shaper, shapers};
use crate::bottleneck::transfer::{self, Transfer};
use crate::evidence::Flowing;
use crate::facts::queue_drops::{self, Discipline};
use crate::words::{count, counted, percent, share};

const PAGE: Page = Page {
    id: RuleId::QdiscLimit,
    title: "Queueing discipline shapes or drops",
    what: "A discipline at an interface that sends the test held it to a rate, or dropped a good \
           part of the loss; or a shaper at one that sends acknowledgements of TCP held them back. \
           Without a test each configured rate is named: of a shaper (tbf, htb, hfsc, cake, \
           netem), of each flow (`maxrate` of fq), or of a policer.",
    why: "A shaper is a limit that somebody set. A queue that overflows is a link, or a device, \
          that is slower than what is sent.",
    evidence: "`drops`, `overlimits` and `packets` of each discipline (`tc -s qdisc`), its kind, \
               and the configured rate (`tc qdisc`, `tc class`, `tc filter`). The bound is the \
               part of the rate that is payload.",
    remedy: "Raise the rate of the shaper, or remove it: `tc qdisc del dev IF root`. The smart \
             queue management (SQM) of a router is to be set to the rate of its line. Of a queue: \
             send less at once, or use `fq`; a longer queue only adds delay.",
    source: "tc(8)",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Queue, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    if case.test.is_none() {
        return case.controlled().flat_map(|device| configured(&device)).collect();
    }
    case.devices().filter_map(|device| disciplines(case, &device)).collect()
}

fn disciplines(case: &Case<'_>, device: &Device<'_, '_>) -> Option<Found> {
    let all = queue_drops::disciplines(device.host, &device.interface.name);
    let mut shapers = all.iter().filter(|one| is_shaper(one.kind));
    let carries_answers = case.is_tcp() && case.wanting().any(|flow| is_of_answers(device, flow));
    let shaped = shapers.find_map(|one| {
        let data = || shaped(case, device, one).filter(|_| !carries_answers);
        held_back(case, device, one).or_else(data)
    });
    // A root counts what its children drop as well: the largest number is that of all.
    let most = all.iter().filter(|one| !one.is_policer()).max_by_key(|one| one.drops);
    shaped.or_else(|| most.and_then(|one| dropped(case, device, one)))
}

/// The rates that are configured, whatever was sent.
fn configured(device: &Device<'_, '_>) -> Vec<Found> {
    shapers(device.interface).iter().map(|shaper| of_configuration(device, shaper)).collect()
}

fn of_configuration(device: &Device<'_, '_>, shaper: &Shaper<'_>) -> Found {
    let (name, kind, interface) = (device.name(), shaper.kind, &device.interface.name);
    let text = format!("{kind} on {name} limits {} to {}", shaper.scope.in_words(), shaper.rate);
    // What leaves a container is limited, what leaves its host is not.
    let is_of_a_guest = matches!(device.interface.kind.as_deref(), Some("veth" | "tun"));
    let is_elsewhere = is_of_a_guest && !device.is_virtual_host();
    let found = if is_elsewhere || shaper.scope == Scope::Selected {
        Found::note(text)
    } else {
        Found::candidate(text)
    };
    let bound = payload_of_shaper(shaper.rate, device.interface.mtu);
    let found = found.at(device.host.role()).allowing(bound).seen(shaper.parameters.clone());
    if shaper.scope == Scope::Received {
        return found.remedy(format!(
            "raise its rate, or remove the filter: tc filter show dev {interface} ingress"
        ));
    }
    let setting = Setting::DefaultQdisc { interface: interface.clone() };
    found.remedy(ADVICE).change_from(setting, Some(kind))
}

/// A shaper that had to wait for its rate again and again.
fn shaped(case: &Case<'_>, device: &Device<'_, '_>, one: &Discipline<'_>) -> Option<Found> {
    case.through(device.host.role(), Flowing::Out).next()?;
    let waits = share(one.overlimits, one.packets.max(1));
    if one.overlimits < ENOUGH || waits < OFTEN {
        return None;
    }
    let (name, kind) = (device.name(), one.kind);
    let found = match rate_of(device, one) {
        Some(shaper) => {
            let text = format!("limited by a shaper on {name}: {kind} at {}", shaper.rate);
            let (rate, mtu) = (shaper.rate, device.interface.mtu);
            let bound = match case.datagram() {
                Some(block) => datagrams_of_shaper(rate, mtu, block),
                None => payload_of_shaper(rate, mtu),
            };
            Found::limit(text).allowing(bound).seen(shaper.parameters)
        }
        None => Found::limit(format!("limited by a shaper on {name}: {kind}")),
    };
    let found = found.at(device.host.role()).explaining(1.0).seen(described(one));
    let found = if one.is_idle() { idle(found) } else { found };
    let is_policy = one.drops > 0;
    let found =
        if is_policy { found.seen(format!("it dropped {}", count(one.drops))) } else { found };
    let setting = Setting::DefaultQdisc { interface: device.interface.name.clone() };
    Some(found.remedy(ADVICE).change_from(setting, Some(kind)))
}

/// A shaper with an empty queue waits for what comes to it.
fn idle(found: Found) -> Found {
    Found { certainty: Certainty::Note, ..found }.seen("its queue was empty most of the time")
}

/// The configured rate of a discipline that counted; none: it has several, and which of them held
/// the test is not known.
fn rate_of<'a>(device: &Device<'_, 'a>, one: &Discipline<'_>) -> Option<Shaper<'a>> {
    let mut ceilings = device.interface.classes.iter().filter_map(|class| class.ceiling);
    let first = ceilings.next();
    if ceilings.any(|other| Some(other) != first) {
        return None;
    }
    let all = shapers(device.interface).into_iter();
    all.filter(|shaper| shaper.scope == Scope::Sent).find(|shaper| shaper.kind == one.kind)
}

/// A shaper on the way of acknowledgements: at the receiver of TCP, or on an observed host towards
/// the sender.
fn held_back(case: &Case<'_>, device: &Device<'_, '_>, one: &Discipline<'_>) -> Option<Found> {
    let flow = case.wanting().filter(|_| case.is_tcp()).find(|flow| is_of_answers(device, flow))?;
    let held = one.overlimits.saturating_add(one.drops);
    let is_often = held >= ENOUGH && share(held, one.packets.max(1)) >= OFTEN_OF_ANSWERS;
    let direction = flow.outcome.direction;
    let transfers = transfer::wanting(case);
    let told = transfers.iter().find(|transfer| transfer.flow.outcome.direction == direction);
    if !is_often {
        return None;
    }
    // Who waits for something else mostly may wait for acknowledgements as well.
    let waits = told.is_none_or(Transfer::may_wait_for_the_path);
    let (name, kind, interface) = (device.name(), one.kind, &device.interface.name);
    let text = format!("limited by a shaper on {name}, which holds back acknowledgements: {kind}");
    let found = if waits { Found::limit(text) } else { Found::candidate(text) };
    let found = found
        .at(device.host.role())
        .going(direction)
        .explaining(told.map_or(1.0, |transfer| transfer.shares().congestion_window))
        .seen(described(one))
        .seen(format!("it dropped {}", count(one.drops)));
    Some(found.remedy(format!(
        "raise its rate (see tc qdisc show dev {interface}), or tc qdisc del dev {interface} root"
    )))
}

/// Whether what an interface sends of a transfer is acknowledgements: next to nothing beside the
/// payload that arrived.
fn is_of_answers(device: &Device<'_, '_>, flow: &Flow<'_>) -> bool {
    let sent = device.growth(counter::INTERFACE_TX_BYTES);
    let arrived = flow.outcome.headline().map_or(0, |headline| headline.bytes);
    let is_small = sent < arrived / MUCH_LESS;
    match device.host.role() {
        Role::Observed(_) => is_small,
        end => *end == flow.receiver() && is_small,
    }
}

fn dropped(case: &Case<'_>, device: &Device<'_, '_>, one: &Discipline<'_>) -> Option<Found> {
    let blame = case.blame(device.host, Flowing::Out, one.drops)?;
    let (kind, interface) = (one.kind, &device.interface.name);
    let text = format!("qdisc {kind} on {} drops packets", device.name());
    let found = Found::new(blame.certainty, text)
        .at(device.host.role())
        .explaining(blame.share)
        .seen(described(one))
        .seen(format!("it dropped {}, {} of the loss", count(one.drops), percent(blame.share)))
        .remedy("send less at once (--pacing), or let fq space packets");
    if kind == FQ {
        return Some(found);
    }
    let setting = Setting::RootQdisc { interface: interface.clone(), kind: FQ.to_owned() };
    Some(found.change_from(setting, Some(kind)))
}

const FQ: &str = "fq";
const ADVICE: &str = "raise the shaper's rate; remove it unless it is a router's SQM";

fn described(one: &Discipline<'_>) -> String {
    format!(
        "{} {}: {}, {}",
        one.kind,
        one.handle.trim_end_matches(':'),
        counted(one.packets, "packet"),
        counted(one.overlimits, "overlimit")
    )
}

fn is_shaper(kind: &str) -> bool {
    SHAPERS.contains(&kind)
}

/// Disciplines that hold to a rate (tc(8)).
const SHAPERS: [&str; 5] = ["tbf", "htb", "hfsc", "cake", "cbq"];
/// With fewer it is a burst. To be calibrated.
const ENOUGH: u64 = 100;
/// Waits for each packet, that may be up to 45 segments. To be calibrated.
const OFTEN: f64 = 0.005;

/// Of acknowledgements, where more than one stands for many segments. By planted faults: 2.7 to 2.8
/// waits for each at 200 kbit/s, and none at 1 Gbit/s. To be calibrated.
const OFTEN_OF_ANSWERS: f64 = 0.2;
/// An interface that sends so many times less than arrives sends no payload.
const MUCH_LESS: u64 = 4;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| shape(record, 12_000))
    .silent(|record| shape(record, 40));

#[cfg(test)]
fn shape(record: &mut measurement::TestRecord, overlimits: u64) {
    let host = crate::test_record::host(record, &measurement::Role::Here);
    crate::test_record::grow(host, counter::QDISC_PACKETS.within("eth0").on("tbf@8001:"), 86_000);
    crate::test_record::grow(
        host,
        counter::QDISC_OVERLIMITS.within("eth0").on("tbf@8001:"),
        overlimits,
    );
}

#[cfg(test)]
mod tests {
    use measurement::host::EachCounter;

    use super::*;
    use crate::accounts::Test;
    use crate::test_record;

    #[test]
    fn a_queue_that_drops_what_is_missing_is_the_reason() {
        let mut record = test_record::udp();
        test_record::lose(&mut record, 5_000);
        let host = test_record::host(&mut record, &measurement::Role::Here);
        test_record::grow(host, counter::QDISC_DROPS.within("eth0").on("mq@0:"), 4_000);
        test_record::grow(host, counter::QDISC_DROPS.within("eth0").on("fq_codel@8001:"), 4_000);
        let test = Test::from_record(&record);
        let found = check(&Case::of_test(&test, &[]));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].certainty, measurement::Certainty::Limit);
        assert!((found[0].share - 0.8).abs() < 0.001);
    }

    #[test]
    fn a_shaper_that_holds_back_acknowledgements_is_told_from_one_that_lets_them_pass() {
        for (overlimits, is_found) in [(3_613, true), (20, false)] {
            let mut record = test_record::tcp();
            let host = test_record::host(&mut record, &Role::Peer);
            let tbf = |each: EachCounter<'static>| each.within("eth0").on("tbf@801e:");
            test_record::grow(host, tbf(counter::QDISC_PACKETS), 1_318);
            test_record::grow(host, tbf(counter::QDISC_OVERLIMITS), overlimits);
            let test = Test::from_record(&record);
            let found = check(&Case::of_test(&test, &[]));
            assert_eq!(found.len(), usize::from(is_found), "{found:?}");
            let sentence = "limited by a shaper on eth0 of the server, which holds back \
                        acknowledgements: tbf";
            assert!(found.iter().all(|one| one.text == sentence), "{found:?}");
        }
    }

    #[test]
    fn what_leaves_the_receiver_is_not_what_is_missing() {
        let mut record = test_record::udp();
        test_record::lose(&mut record, 5_000);
        let host = test_record::host(&mut record, &measurement::Role::Peer);
        test_record::grow(host, counter::QDISC_DROPS.within("eth0").on("fq_codel@8001:"), 4_000);
        let test = Test::from_record(&record);
        assert_eq!(check(&Case::of_test(&test, &[])), []);
    }

    fn shaped_to(rate: u64) -> measurement::TestRecord {
        let mut record = test_record::tcp();
        let interface = test_record::interface_of(&mut record, &measurement::Role::Here);
        interface.queueing[0] = measurement::host::Queueing {
            handle: "8001:".to_owned(),
            kind: "tbf".to_owned(),
            rate: Some(measurement::BitRate::from_bits_per_second(rate)),
            burst_bytes: Some(1_600),
            ..measurement::host::Queueing::default()
        };
        record
    }

    #[test]
    fn a_configured_rate_is_told_without_a_test() {
        let record = shaped_to(200_000);
        let found = check(&Case::of_hosts(&record.hosts, &[]));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].certainty, measurement::Certainty::Candidate);
        assert_eq!(found[0].text, "tbf on eth0 of this host limits what it sends to 200.0 kbit/s");
        assert_eq!(found[0].evidence, ["tbf 8001: rate 200.0 kbit/s, burst 1,600 bytes"]);
        let bound = found[0].effect.bound().expect("known");
        assert_eq!(bound.from.bits_per_second(), 191_281);
    }

    #[test]
    fn a_shaper_of_a_guest_does_not_limit_its_host() {
        let mut record = shaped_to(200_000);
        let host = test_record::host(&mut record, &measurement::Role::Here);
        host.interfaces.clear();
        let mut guest = host.inventory.interfaces[0].clone();
        host.inventory.interfaces[0].queueing.clear();
        guest.kind = Some("veth".to_owned());
        host.inventory.interfaces.push(guest);
        let found = check(&Case::of_hosts(&record.hosts, &[]));
        assert_eq!(found[0].certainty, measurement::Certainty::Note);
    }

    #[test]
    fn a_shaper_that_held_the_test_is_told_with_its_rate() {
        let mut record = shaped_to(100_000_000);
        shape(&mut record, 12_000);
        let test = Test::from_record(&record);
        let found = check(&Case::of_test(&test, &[]));
        assert_eq!(found[0].text, "limited by a shaper on eth0 of this host: tbf at 100.0 Mbit/s");
        assert!(found[0].effect.bound().is_some());
    }

    #[test]
    fn acknowledgements_that_are_held_back_may_limit_who_waits_for_something_else() {
        let mut record = test_record::tcp();
        test_record::sent(&mut record).receive_window_limited_micros = 7_000_000;
        let host = test_record::host(&mut record, &Role::Peer);
        let tbf = |each: EachCounter<'static>| each.within("eth0").on("tbf@801e:");
        test_record::grow(host, tbf(counter::QDISC_PACKETS), 1_663);
        test_record::grow(host, tbf(counter::QDISC_OVERLIMITS), 1_429);
        let test = Test::from_record(&record);
        let found = check(&Case::of_test(&test, &[]));
        assert_eq!(found[0].certainty, measurement::Certainty::Candidate);
    }
}
