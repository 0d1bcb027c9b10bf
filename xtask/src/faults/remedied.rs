//! Whether what a verdict tells to change helps: the commands of its remedy are run on the hosts
//! that they name, and the test is repeated.

use anyhow::{Context, Result, bail, ensure};
use measurement::TestRecord;
use measurement::remedy::Change;

use super::needs;
use super::run::value;
use super::said::Said;
use super::scenario::Scenario;
use super::setting::Setting;
use super::step::Step;
use crate::hosts::{UnderTest, run_client};
use crate::output::{say, transient};

/// Applies the remedy of each scenario whose headline is right and names a setting.
pub(super) fn run(
    under_test: &UnderTest,
    scenarios: &[Scenario],
    is_stopped: &dyn Fn() -> bool,
) -> Result<String> {
    let (mut helped, mut failed) = (0_usize, Vec::new());
    for scenario in scenarios.iter().filter(|one| !one.is_control()) {
        transient(&scenario.name);
        if needs::missing(scenario)?.is_some() {
            continue;
        }
        let Some(gain) = gain(under_test, scenario)? else { continue };
        if gain >= ENOUGH {
            helped += 1;
        } else {
            failed.push(scenario.name.as_str());
        }
        ensure!(!is_stopped(), "faults: interrupted; what was planted is taken away");
    }
    if !failed.is_empty() {
        bail!("faults: the remedies of {} brought nothing", failed.join(", "));
    }
    Ok(format!("faults: each of {helped} remedies made its test faster"))
}

/// How many times as much arrives with the remedy; none: the headline is another one, or its
/// remedy names no setting.
fn gain(under_test: &UnderTest, scenario: &Scenario) -> Result<Option<f64>> {
    let steps: Vec<&Step> = scenario.base.iter().chain(&scenario.plant).collect();
    let mut setting = Setting::create(under_test, scenario, &steps)?;
    let before = record(&setting)?;
    let said = Said::from_record(&before);
    let changes = said.headline.as_ref().map(|finding| finding.remedy.changes.clone());
    let changes = changes.filter(|all| !all.is_empty() && said.is_right(&scenario.expect));
    let Some(changes) = changes else { return Ok(None) };
    for change in &changes {
        setting.apply(change).with_context(|| format!("{}: {change:?}", scenario.name))?;
    }
    let after = record(&setting)?;
    let (before, after) = (value(&before, scenario.metric)?, value(&after, scenario.metric)?);
    let gain = after / before.max(f64::MIN_POSITIVE);
    let commands: Vec<_> = changes.iter().map(Change::command).collect();
    transient("");
    say(format!("{gain:8.2} x  {}: {}", scenario.name, commands.join("; ")));
    Ok(Some(gain))
}

fn record(setting: &Setting<'_>) -> Result<TestRecord> {
    Ok(run_client(setting.client("test"))?.record)
}

/// Times what arrived before.
const ENOUGH: f64 = 1.1;
