//! Settings of tests and of their hosts that differ between two sets of records.

use std::collections::{BTreeMap, BTreeSet};

use measurement::comparison::Difference;
use measurement::{HostEvidence, IntoSet, Role, TestRecord, json};
use serde_json::Value;

/// Kernel releases of the hosts that wrote the records, with commas between them.
pub(super) fn kernels(records: &[TestRecord]) -> String {
    let environments = records.iter().filter_map(|record| record.environment.as_ref());
    let kernels: BTreeSet<_> = environments.map(|one| one.kernel.as_str()).into_set();
    kernels.into_iter().collect::<Vec<_>>().join(", ")
}

/// Settings that differ, by name. A setting that has several values on one side shows all of them.
pub(super) fn differences(before: &[TestRecord], after: &[TestRecord]) -> Vec<Difference> {
    let (before, after) = (settings(before), settings(after));
    let names: BTreeSet<_> = before.keys().chain(after.keys()).into_set();
    let value = |settings: &Settings, name: &String| {
        let values = settings.get(name).into_iter().flatten();
        values.map(String::as_str).collect::<Vec<_>>().join(", ")
    };
    let difference = |name: &String| {
        let (before, after) = (value(&before, name), value(&after, name));
        (before != after).then(|| Difference { what: name.clone(), before, after })
    };
    names.into_iter().filter_map(difference).collect()
}

/// Values by the name of the setting.
type Settings = BTreeMap<String, BTreeSet<String>>;

fn settings(records: &[TestRecord]) -> Settings {
    let mut settings = Settings::new();
    for record in records.iter().filter(|record| record.origin.question.is_none()) {
        // Rows differ by their titles; what they share is compared.
        let row = record.plan.row();
        add(&mut settings, &format!("plan of {row}"), &plan(record));
        add_streams(&mut settings, &row, record);
        add(&mut settings, "linerate", &Value::from(record.origin.linerate.clone()));
        if let Some(peer) = &record.peer {
            add(&mut settings, "peer software", &Value::from(peer.software.clone()));
        }
        if let Some(environment) = &record.environment {
            add(&mut settings, "kernel", &Value::from(environment.kernel.clone()));
            add(&mut settings, "host", &Value::from(environment.host.clone()));
        }
        for host in &record.hosts {
            add_host(&mut settings, host);
        }
    }
    settings
}

/// Settings of the plan; not the rate that a search found, and the time that it left for the row.
fn plan(record: &TestRecord) -> Value {
    let mut plan = json::value(&*record.plan);
    if record.trials.rate.is_some() {
        plan["end"] = Value::Null;
        plan["options"]["rate_bits_per_second"] = Value::Null;
    }
    plan
}

/// Settings of the sockets as the kernel reports them, which need not be what was asked for.
fn add_streams(settings: &mut Settings, row: &str, record: &TestRecord) {
    for stream in &record.streams {
        let name = format!("streams of {row}");
        let congestion = stream.congestion.clone().map(Value::from);
        let parts = [
            ("congestion", congestion),
            ("mss_bytes", stream.mss.map(Value::from)),
            ("engine", stream.engine.as_ref().map(|engine| Value::from(engine.to_string()))),
        ];
        for (part, value) in parts {
            add(settings, &format!("{name} {part}"), &value.unwrap_or_default());
        }
    }
}

/// Settings of a host by its inventory, without its counters.
fn add_host(settings: &mut Settings, host: &HostEvidence) {
    let name = match &host.role {
        Role::Here => "client",
        Role::Peer => "server",
        Role::Observed(name) => name,
    };
    let inventory = &host.inventory;
    add(settings, &format!("{name} kernel"), &Value::from(inventory.kernel.clone()));
    add(settings, name, &json::value(&inventory.settings));
    add(settings, &format!("{name} options"), &json::value(&inventory.kernel_options));
    add(settings, &format!("{name} services"), &json::value(&inventory.services));
    for interface in &inventory.interfaces {
        if host.interfaces.contains(&interface.name) {
            let name = format!("{name} {}", interface.name);
            add(settings, &name, &json::value(interface));
        }
    }
}

/// Adds each value below `value`; a list of words is one value.
fn add(settings: &mut Settings, name: &str, value: &Value) {
    let text = match value {
        Value::Null => return,
        Value::Object(fields) => {
            let told = fields.iter().filter(|(field, _)| !PASSING.contains(&field.as_str()));
            for (field, value) in told {
                add(settings, &format!("{name} {field}"), value);
            }
            return;
        }
        Value::Array(items) if items.iter().any(Value::is_object) => {
            for item in items {
                add(settings, name, item);
            }
            return;
        }
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    settings.entry(name.to_owned()).or_default().insert(text);
}

/// Attributes that are no settings, and may change whenever an interface or a queueing discipline is made.
const PASSING: [&str; 7] =
    ["index", "addresses", "state", "attributes", "handle", "parent", "filter"];
