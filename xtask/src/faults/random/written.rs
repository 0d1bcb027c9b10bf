//! A scenario written as a file of `faults/scenarios`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::Value;

use super::super::scenario::{Metric, Peer, Scenario, TopologyKind};

/// Writes it below its name.
pub(super) fn write(folder: &Path, scenario: &Scenario) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let path = folder.join(format!("{}.toml", scenario.name));
    fs::write(&path, text(scenario)?).with_context(|| path.display().to_string())
}

fn text(scenario: &Scenario) -> Result<String> {
    let mut text = line("planted", &scenario.planted)?;
    if scenario.topology != TopologyKind::Cable {
        text += &line("topology", scenario.topology)?;
    }
    text += &line("test", &scenario.test)?;
    if scenario.metric != Metric::Delivered {
        text += &line("metric", scenario.metric)?;
    }
    if scenario.peer != Peer::Linerate {
        text += &line("peer", scenario.peer)?;
    }
    if !scenario.needs.is_empty() {
        text += &line("needs", &scenario.needs)?;
    }
    text += &line("expect", &scenario.expect)?;
    for (name, steps) in [("base", &scenario.base), ("plant", &scenario.plant)] {
        for step in steps {
            write!(text, "\n[[{name}]]\n{}", entry(step)?)?;
        }
    }
    Ok(text)
}

fn line(name: &str, value: impl Serialize) -> Result<String> {
    Ok(format!("{name} = {}\n", inline(&serde_json::to_value(value)?)))
}

/// A step is a table of one key.
fn entry(step: impl Serialize) -> Result<String> {
    let value = serde_json::to_value(step)?;
    let table = value.as_object().context("a step is no table")?;
    let (name, value) = table.iter().next().context("a step is empty")?;
    Ok(format!("{name} = {}\n", inline(value)))
}

/// Strings and numbers of JSON are those of TOML.
fn inline(value: &Value) -> String {
    let joined = |parts: Vec<String>| parts.join(", ");
    match value {
        Value::Object(table) if table.is_empty() => "{}".to_owned(),
        Value::Object(table) => {
            let pair = |(name, value): (&String, &Value)| format!("{name} = {}", inline(value));
            format!("{{ {} }}", joined(table.iter().map(pair).collect()))
        }
        Value::Array(all) => format!("[{}]", joined(all.iter().map(inline).collect())),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::case::Case;
    use super::*;

    #[test]
    fn every_case_is_read_as_it_was_written() {
        for case in (0..500).map(|number| Case::draw(1, number)) {
            let scenario = case.scenario(0);
            let written = text(&scenario).expect("it is written");
            let mut read: Scenario =
                toml::from_str(&written).unwrap_or_else(|error| panic!("{error}\n{written}"));
            read.name = scenario.name.clone();
            assert_eq!(format!("{read:?}"), format!("{scenario:?}"));
        }
    }
}
