//! What is kept of the records of a run beside the records, to find the run by it.

use std::collections::{BTreeMap, BTreeSet};

use measurement::host::Interface;
use measurement::record::Source;
use measurement::{Conclusion, HostEvidence, IntoSet, RecordSet, Role, RunRow, TestRecord};

use crate::filter::millis;
use crate::run::About;

/// A run as the tables have it.
pub(crate) struct Kept {
    pub(crate) started_millis: i64,
    pub(crate) host: KeptHost,
    pub(crate) peer: KeptPeer,
    /// Names and values.
    pub(crate) tags: Vec<(String, String)>,
    pub(crate) rows: Vec<RunRow>,
}

/// The host that wrote the records; what is not known is empty.
#[derive(Default)]
pub(crate) struct KeptHost {
    pub(crate) name: String,
    pub(crate) kernel: String,
    pub(crate) architecture: String,
    pub(crate) driver: String,
    pub(crate) firmware: String,
    pub(crate) linerate: String,
}

/// The other end; what is not known is empty.
#[derive(Default)]
pub(crate) struct KeptPeer {
    pub(crate) address: String,
    pub(crate) software: String,
    pub(crate) kernel: String,
}

impl Kept {
    pub(crate) fn from_records(set: &RecordSet, about: About<'_>) -> Self {
        let now = i64::try_from(about.now_millis).unwrap_or(i64::MAX);
        let started = set.records.iter().filter_map(started_millis).min();
        // What was asked stands for the run: what a search tried may come before.
        let first = set.records.first();
        Self {
            started_millis: started.unwrap_or(now),
            host: first.map(host).unwrap_or_default(),
            peer: first.map(peer).unwrap_or_default(),
            tags: tags(set),
            rows: set.records.iter().flat_map(rows).collect(),
        }
    }
}

/// The labels of a run; one of which its records have several values, as the sides of an A/B test
/// have, is without a value.
fn tags(set: &RecordSet) -> Vec<(String, String)> {
    let mut tags: BTreeMap<&str, &str> = BTreeMap::new();
    for (name, value) in set.records.iter().flat_map(|record| &record.tags) {
        let kept = tags.entry(name).or_insert(value);
        if kept != value {
            *kept = "";
        }
    }
    tags.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn started_millis(record: &TestRecord) -> Option<i64> {
    millis(&record.environment.as_ref()?.started_at)
}

fn host(record: &TestRecord) -> KeptHost {
    let here = record.hosts.iter().find(|host| host.role == Role::Here);
    let environment = record.environment.clone();
    let of = |what: fn(&Interface) -> Option<&String>| here.map(|host| on_the_path(host, what));
    KeptHost {
        driver: of(|interface| interface.driver.as_ref()).unwrap_or_default(),
        firmware: of(|interface| interface.firmware.as_ref()).unwrap_or_default(),
        linerate: writer(record),
        ..environment.map_or_else(KeptHost::default, |environment| KeptHost {
            name: environment.host,
            kernel: environment.kernel,
            architecture: environment.architecture,
            ..KeptHost::default()
        })
    }
}

/// The version of linerate that measured; empty: another program did.
fn writer(record: &TestRecord) -> String {
    let is_measured = record.origin.source == Source::Measured;
    if is_measured { record.origin.linerate.clone() } else { String::new() }
}

/// What interfaces that carried the test have, each once, with commas between them.
fn on_the_path(host: &HostEvidence, what: fn(&Interface) -> Option<&String>) -> String {
    let carried = |interface: &&Interface| host.interfaces.contains(&interface.name);
    let interfaces = host.inventory.interfaces.iter().filter(carried);
    let texts: BTreeSet<_> = interfaces.filter_map(what).map(String::as_str).into_set();
    texts.into_iter().collect::<Vec<_>>().join(",")
}

fn peer(record: &TestRecord) -> KeptPeer {
    let host = record.hosts.iter().find(|host| host.role == Role::Peer);
    let kernel = host.map(|host| host.inventory.kernel.clone()).unwrap_or_default();
    let peer = record.peer.as_ref();
    // An import knows the ends of the streams alone.
    let of_stream = || record.streams.first()?.peer;
    let address = peer.map(|peer| peer.address).or_else(of_stream);
    KeptPeer {
        address: address.map(|address| address.ip().to_string()).unwrap_or_default(),
        software: peer.map(|peer| peer.software.clone()).unwrap_or_default(),
        kernel,
    }
}

fn rows(record: &TestRecord) -> impl Iterator<Item = RunRow> {
    let (stamp, limit) = (record.judgement.as_ref().map(|one| one.stamp), limit(record));
    let settings = record.settings();
    record.figures().into_iter().map(move |figure| RunRow {
        row: figure.row,
        settings: settings.clone(),
        quantity: figure.quantity,
        value: figure.value,
        stamp,
        limit: limit.clone(),
    })
}

fn limit(record: &TestRecord) -> String {
    let verdict = record.judgement.as_ref().and_then(|judgement| judgement.verdict.as_ref());
    let Some(verdict) = verdict else { return String::new() };
    match (verdict.conclusion, verdict.findings.first()) {
        (Conclusion::Limited, Some(finding)) => finding.rule.slug().to_owned(),
        (Conclusion::Delivered, _) => "delivered".to_owned(),
        _ => String::new(),
    }
}
