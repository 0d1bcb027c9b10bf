//! A test as data of the page: what came of it, and what is known of why.

use measurement::outcome::Ending;
use measurement::record::Source;
use measurement::{Stamp, TestRecord};
use serde::Serialize;

use super::command;
use super::host::{self, CpuTime, Flame, HostTables};
use super::throughput::{self, Course, ThroughputRow};
use super::traffic::{self, Flow, Shares, Times};
use super::verdict::{self, Reason, Told};
use crate::notes;

/// A test.
#[derive(Debug, Serialize)]
pub(super) struct Test {
    title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stamp: Option<Stamp>,
    facts: Vec<[String; 2]>,
    ends: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    rows: Vec<ThroughputRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<Told>,
    reasons: Vec<Reason>,
    unchecked: Vec<String>,
    notes: Vec<String>,
    throughput: Vec<Course>,
    flows: Vec<Flow>,
    shares: Vec<Shares>,
    times: Vec<Times>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delay: Option<String>,
    cpu: Vec<CpuTime>,
    flames: Vec<Flame>,
    hosts: Vec<HostTables>,
    command: String,
}

impl Test {
    /// That of a record, and which `run` of its plan it is: ` 2/3`.
    pub(super) fn new(record: &TestRecord, run: &str) -> Self {
        let judgement = record.judgement.as_ref();
        Self {
            title: record.plan.row() + run,
            question: record.origin.question.clone(),
            stamp: judgement.map(|judgement| judgement.stamp),
            facts: facts(record),
            ends: ends(record),
            error: error(record),
            rows: throughput::rows(record),
            verdict: judgement.and_then(|judgement| judgement.verdict.as_ref()).map(Told::new),
            reasons: verdict::reasons(record),
            unchecked: crate::judgement::unchecked(record),
            notes: notes::notes(record).collect(),
            throughput: throughput::courses(record),
            flows: traffic::flows(record),
            shares: traffic::shares(record),
            times: traffic::times(record),
            delay: traffic::delay(record),
            cpu: host::cpu_times(record),
            flames: host::flames(record),
            hosts: host::tables(record),
            command: command::of_test(record),
        }
    }

    pub(super) fn ends(&self) -> String {
        self.ends.clone()
    }
}

fn ends(record: &TestRecord) -> String {
    let peer = record.peer.as_ref();
    let ends = peer.map(|peer| format!("{} -> {}", peer.local_address.ip(), peer.address.ip()));
    ends.unwrap_or_default()
}

fn error(record: &TestRecord) -> Option<String> {
    match &record.outcome.ending {
        Ending::Completed => None,
        Ending::Interrupted => {
            Some("The test was interrupted: the numbers are partial.".to_owned())
        }
        Ending::Failed { error } => Some(error.clone()),
    }
}

/// Name and value of what was tested, and where.
fn facts(record: &TestRecord) -> Vec<[String; 2]> {
    let mut facts = Vec::new();
    let mut add = |name: &str, value: String| {
        if !value.is_empty() {
            facts.push([name.to_owned(), value]);
        }
    };
    add("ends", ends(record));
    if let Some(here) = &record.environment {
        add("started", here.started_at.clone());
        add("host", here.host.clone());
        add("kernel", format!("Linux {} {}", here.kernel, here.architecture));
        add("CPUs", here.cpus.to_string());
    }
    let stream = record.streams.first();
    add("congestion control", stream.and_then(|one| one.congestion.clone()).unwrap_or_default());
    add("length", stream.map(|one| one.block.expanded()).unwrap_or_default());
    add(
        "segment",
        stream.and_then(|one| one.mss).map(|mss| format!("{mss} bytes")).unwrap_or_default(),
    );
    add("peer", record.peer.as_ref().map(|peer| peer.software.clone()).unwrap_or_default());
    match &record.origin.source {
        Source::Measured => add("measured by", format!("linerate {}", record.origin.linerate)),
        Source::Imported(source) => add("imported from", source.clone()),
    }
    for (name, value) in &record.tags {
        add("tag", if value.is_empty() { name.clone() } else { format!("{name}={value}") });
    }
    facts
}
