//! A scenario as its file has it: what is planted, what is run, and what is expected ([`Expected`]).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::expected::Expected;
use super::machine::Machine;
use super::step::Step;

/// One cause, or none.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Scenario {
    /// The name of its file.
    #[serde(skip)]
    pub(crate) name: String,
    /// What is planted, in words.
    pub(crate) planted: String,
    #[serde(default)]
    pub(super) topology: TopologyKind,
    #[serde(default)]
    pub(super) command: Command,
    /// Words of the command.
    pub(super) test: String,
    #[serde(default)]
    pub(super) metric: Metric,
    #[serde(default)]
    pub(super) peer: Peer,
    /// The program of a peer that is an iperf3; none: the installed one.
    #[serde(skip)]
    pub(super) program: Option<PathBuf>,
    /// Whether it is one of those of a short run.
    #[serde(default)]
    pub(crate) run: Run,
    /// Rounds of a proof that is not short.
    #[serde(default = "once")]
    pub(crate) times: u32,
    #[serde(default)]
    pub(super) needs: Vec<Need>,
    /// What the link is like in the clean runs too.
    #[serde(default)]
    pub(crate) base: Vec<Step>,
    /// The cause; empty: the scenario is a clean control.
    #[serde(default)]
    pub(crate) plant: Vec<Step>,
    pub(crate) expect: Expected,
    /// Why it can be run on no kernel.
    pub(super) never: Option<String>,
}

/// A command of linerate that tests against the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Command {
    #[default]
    Test,
    Search,
    Sweep,
    Diagnose,
}

impl Command {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::Search => "search",
            Self::Sweep => "sweep",
            Self::Diagnose => "diagnose",
        }
    }
}

/// What joins the hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TopologyKind {
    /// A virtual Ethernet pair.
    #[default]
    Cable,
    /// None: both hosts are one.
    Loopback,
    /// Two pairs, and a host between them that forwards.
    Router,
    /// Two pairs, and a thread that carries frames.
    Relay,
}

/// In what a cause shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Metric {
    /// The rate that arrives, in all directions together.
    #[default]
    Delivered,
    /// That as a share of what was asked.
    Kept,
}

/// What answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Peer {
    #[default]
    Linerate,
    Iperf3,
}

/// In which runs it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Run {
    /// In the short one too.
    Short,
    #[default]
    Long,
}

/// What a kernel or a system may lack.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Need {
    /// A queueing discipline.
    Qdisc(String),
    /// A program.
    Program(String),
    /// A quota of CPU time for a control group.
    Quota,
    /// At least so many CPUs.
    Cpus(usize),
    /// A match or a target of iptables, as a rule that has it.
    Firewall(String),
    /// Limits at the ingress hook of an interface.
    Policer,
    /// What a shell can do to a fresh host, as `shell` of a step has it.
    Shell(String),
    /// Real-time scheduling.
    RealTime,
    /// A congestion control that root may choose.
    Congestion(String),
    /// One that every user may choose.
    AllowedCongestion(String),
}

impl Scenario {
    /// All of a folder, by name.
    pub(crate) fn all(folder: &Path) -> Result<Vec<Self>> {
        let scenarios = read_all(folder)?.into_iter();
        Ok(scenarios.map(|(name, scenario)| Self { name, ..scenario }).collect())
    }

    /// This scenario on another machine.
    pub(super) fn on(mut self, machine: Machine) -> Self {
        self.name = machine.case(&self.name);
        self.base.extend(machine.steps(self.topology));
        self.needs.extend(machine.needs());
        self
    }

    /// Whether nothing is planted.
    pub(crate) fn is_control(&self) -> bool {
        matches!(self.expect, Expected::Delivered)
    }

    /// Whether the cause is to cost something, compared with the link without it.
    pub(super) fn is_compared(&self) -> bool {
        matches!(self.expect, Expected::Cause { .. }) && !self.plant.is_empty()
    }
}

/// What the files of a folder have, by name: each of them one value, or one for each entry of its
/// table `each`.
pub(crate) fn read_all<T: DeserializeOwned>(folder: &Path) -> Result<Vec<(String, T)>> {
    let mut all = Vec::new();
    let entries = fs::read_dir(folder).with_context(|| format!("no {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            all.extend(read(&path).with_context(|| path.display().to_string())?);
        }
    }
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(all)
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<Vec<(String, T)>> {
    let text = fs::read_to_string(path)?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut table: Table = toml::from_str(&text)?;
    let Some(each) = table.remove("each") else {
        return Ok(vec![(name, toml::from_str(&text)?)]);
    };
    let each: BTreeMap<String, Table> = each.try_into()?;
    let filled = each.iter().map(|(entry, values)| {
        let mut table = Value::Table(table.clone());
        fill(&mut table, values);
        Ok((format!("{name}-{entry}"), table.try_into()?))
    });
    filled.collect()
}

/// Puts values in place of their names in braces: `{mbps}`.
fn fill(value: &mut Value, values: &Table) {
    match value {
        Value::String(text) => {
            for (name, with) in values {
                let hole = format!("{{{name}}}");
                if *text == hole {
                    *value = with.clone();
                    return;
                }
                *text = text.replace(&hole, &plain(with));
            }
        }
        Value::Array(all) => all.iter_mut().for_each(|one| fill(one, values)),
        Value::Table(table) => table.iter_mut().for_each(|(_, one)| fill(one, values)),
        _ => {}
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        other => format!("{other:?}"),
    }
}

pub(super) const fn once() -> u32 {
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Scenario> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/faults/scenarios");
        Scenario::all(&folder).expect("every file is a scenario")
    }

    #[test]
    fn there_are_enough_scenarios_and_controls() {
        let scenarios = all();
        assert!(scenarios.len() >= 24, "{}", scenarios.len());
        assert!(scenarios.iter().filter(|one| one.is_control()).count() >= 5);
        let short = scenarios.iter().filter(|one| one.run == Run::Short).count();
        assert!((6..=10).contains(&short), "{short}");
    }

    #[test]
    fn a_control_plants_nothing_and_a_cause_something() {
        for scenario in all() {
            let plants = !scenario.plant.is_empty() || scenario.never.is_some();
            assert_ne!(scenario.is_control(), plants, "{}", scenario.name);
        }
    }

    #[test]
    fn a_word_that_nobody_knows_is_an_error() {
        let text = "planted = \"x\"\ntest = \"\"\nexpect = \"delivered\"\n";
        assert!(toml::from_str::<Scenario>(text).is_ok());
        assert!(toml::from_str::<Scenario>(&format!("{text}metrik = \"kept\"\n")).is_err());
        let step = "[[plant]]\nmtu = { bites = 1 }\n";
        assert!(toml::from_str::<Scenario>(&format!("{text}{step}")).is_err());
    }
}
