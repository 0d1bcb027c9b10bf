//! Proofs whose cases are scenarios, in a folder of files: what is planted, and what is expected.

use anyhow::{Context, Result, ensure};

use super::Outcome;
use crate::faults::machine::Machines;
use crate::faults::needs;
use crate::faults::run::{Outcome as Planted, Runner};
use crate::faults::scenario::{Run, Scenario};
use crate::output::{say, transient};
use crate::packages;
use crate::workspace::Workspace;

/// Runs the scenarios of a folder of proofs, or those whose name contains a text, each as many times
/// `runs` as it says.
pub(super) fn run(
    runner: &Runner<'_>,
    folder: &str,
    only: Option<&str>,
    runs: u32,
    machines: &Machines,
) -> Result<Vec<Outcome>> {
    packages::provide(&packages::PLANTED)?;
    let scenarios = Scenario::all(&Workspace::find()?.root.join("xtask/src/proof").join(folder))?;
    let scenarios = machines.each(&scenarios);
    let is_asked = |one: &&Scenario| {
        let is_in_time = !runner.under_test.short || one.run == Run::Short;
        is_in_time && only.is_none_or(|only| one.name.contains(only))
    };
    let (mut outcomes, mut not_run) = (Vec::new(), Vec::new());
    for scenario in scenarios.iter().filter(is_asked) {
        let name = &scenario.name;
        transient(name);
        if let Some(why) = needs::missing(scenario)? {
            not_run.push(format!("{name} ({why})"));
            continue;
        }
        let times = if runner.under_test.short { runs } else { runs * scenario.times };
        let planted = Planted::measure(runner, scenario, times);
        let planted = planted.with_context(|| name.clone())?.context("interrupted")?;
        outcomes.extend(shown(&planted, scenario));
    }
    transient("");
    if !not_run.is_empty() {
        say(format!("not run: {}", not_run.join("; ")));
    }
    ensure!(!outcomes.is_empty() || !not_run.is_empty(), "no case of {folder} has such a name");
    Ok(outcomes)
}

/// One for each round.
fn shown(planted: &Planted, scenario: &Scenario) -> Vec<Outcome> {
    let rounds = planted.rounds.iter().map(|round| {
        let attempts = match round.attempts {
            1 => String::new(),
            attempts => format!(", attempt {attempts}"),
        };
        let (expected, noise, text) = (&planted.expected, round.noise, &round.judged.text);
        let seen = format!("{expected} expected; {noise}{attempts}; {text}");
        let name = format!("{}: {}", scenario.name, scenario.planted);
        Outcome::show(name, seen, round.judged.is_right)
    });
    rounds.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::faults::expected::Expected;

    fn all(folder: &str) -> Vec<Scenario> {
        let proofs = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/proof");
        Scenario::all(&proofs.join(folder)).expect("every file is a scenario")
    }

    #[test]
    fn every_rule_of_trust_has_a_case_or_a_reason_not_to() {
        let known = all("stamps").into_iter().flat_map(|one| match one.expect {
            Expected::Stamp(stamps) => stamps.rules().collect::<Vec<_>>(),
            _ => Vec::new(),
        });
        assert_eq!(known.collect::<BTreeSet<_>>(), analysis::trust_rules().collect());
    }

    #[test]
    fn a_file_has_a_scenario_for_each_of_its_values() {
        for (folder, count) in [("ledger", 9), ("forwarder", 21), ("knee", 17), ("rates", 9)] {
            assert_eq!(all(folder).len(), count, "{folder}");
        }
        let shown = format!("{:?}", all("knee"));
        assert!(shown.contains("tbf rate 940mbit burst 470000 latency 20ms"), "{shown}");
    }
}
