//! A scenario as its file has it: what is planted, what is run, and what is to be said of it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use measurement::RuleId;
use measurement::host::Role;
use measurement::verdict::Finding;
use serde::{Deserialize, Serialize};

use super::step::Step;

/// One cause, or none.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Scenario {
    /// The name of its file.
    #[serde(skip)]
    pub(crate) name: String,
    /// What is planted, in words.
    pub(crate) planted: String,
    #[serde(default)]
    pub(super) topology: TopologyKind,
    /// Words of `linerate test`.
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
    #[serde(default)]
    pub(super) needs: Vec<Need>,
    /// What the link is like in the clean runs too.
    #[serde(default)]
    pub(crate) base: Vec<Step>,
    /// The cause; empty: the scenario is a clean control.
    #[serde(default)]
    pub(crate) plant: Vec<Step>,
    pub(super) expect: Expected,
    /// Why it can be run on no kernel.
    pub(super) never: Option<String>,
}

/// What joins the hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TopologyKind {
    /// A virtual Ethernet pair.
    #[default]
    Cable,
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

/// What is to be said.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Expected {
    /// That what was asked was delivered, and nothing else.
    Delivered,
    /// What limits.
    Cause {
        /// Each of these names the cause.
        rules: BTreeSet<RuleId>,
        /// On which of these hosts it is; empty: wherever.
        #[serde(default)]
        on: Vec<On>,
        /// A verdict that leaves it open is right too if it says what would decide, and this
        /// word is in it.
        open: Option<String>,
    },
}

/// Where a cause is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum On {
    Client,
    Server,
    Router,
    /// Between the hosts.
    Path,
}

impl Scenario {
    /// All of a folder, by name.
    pub(super) fn all(folder: &Path) -> Result<Vec<Self>> {
        let mut scenarios = Vec::new();
        let entries = fs::read_dir(folder).with_context(|| format!("no {}", folder.display()))?;
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                scenarios.push(Self::read(&path)?);
            }
        }
        scenarios.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(scenarios)
    }

    fn read(path: &Path) -> Result<Self> {
        let shown = || path.display().to_string();
        let text = fs::read_to_string(path).with_context(shown)?;
        let mut scenario: Self = toml::from_str(&text).with_context(shown)?;
        scenario.name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(scenario)
    }

    /// Whether nothing is planted.
    pub(super) fn is_control(&self) -> bool {
        matches!(self.expect, Expected::Delivered)
    }
}

impl Expected {
    /// As one word, for tables.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Delivered => "delivered".to_owned(),
            Self::Cause { rules, .. } => {
                rules.iter().map(|rule| rule.slug()).collect::<Vec<_>>().join("|")
            }
        }
    }
}

impl Expected {
    /// Whether this finding names the cause.
    pub(super) fn is_named_by(&self, finding: &Finding) -> bool {
        let Self::Cause { rules, on, .. } = self else { return false };
        let host = finding.host.as_ref();
        rules.contains(&finding.rule) && (on.is_empty() || on.iter().any(|one| one.is(host)))
    }
}

impl On {
    /// Whether a finding's host is this one.
    pub(super) fn is(self, host: Option<&Role>) -> bool {
        match self {
            Self::Client => host == Some(&Role::Here),
            Self::Server => host == Some(&Role::Peer),
            Self::Router => matches!(host, Some(Role::Observed(_))),
            Self::Path => host.is_none(),
        }
    }
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
