//! Whether the rules of trust say what is wrong where it was planted, and nothing where
//! nothing was.

mod clean;
mod host;
mod numbers;

use std::time::Duration;

use anyhow::{Context, Result};
use measurement::outcome::Ending;
use measurement::{Judgement, RuleId, Stamp};

use super::Outcome;
use crate::hosts::plant;
use crate::hosts::{ClientRun, Testbed, UnderTest, judgement, run_client};
use crate::output::say;
use crate::packages;
use testbed::noise::{self, Noise, Reading};
use testbed::topology::Path;

/// Every case, or those of one rule.
pub(super) fn run(under_test: &UnderTest, only: Option<&str>) -> Result<Vec<Outcome>> {
    packages::provide(&[
        ("iptables-legacy", "iptables"),
        ("tc", "iproute2"),
        ("taskset", "util-linux"),
        ("iperf3", "iperf3"),
    ])?;
    let (mut outcomes, mut not_run) = (Vec::new(), Vec::new());
    let rule = only.filter(|only| *only != CLEAN).map(str::parse::<RuleId>).transpose()?;
    let is_asked = |case: &&Case| only.is_none() || rule.is_some_and(|rule| case.speaks_of(rule));
    for case in cases().filter(is_asked) {
        match case.run(under_test).with_context(|| case.name())? {
            Ok(outcome) => outcomes.push(outcome),
            Err(why) => not_run.push(format!("{} ({why})", case.name())),
        }
    }
    if only.is_none_or(|rule| rule == CLEAN) {
        outcomes.extend(clean::run(under_test)?);
    }
    not_run.extend(NEVER_RUN.iter().map(|(id, why)| format!("{id} {why}")));
    say(format!("not run: {}", not_run.join("; ")));
    Ok(outcomes)
}

fn cases() -> impl Iterator<Item = &'static Case> {
    host::CASES.iter().chain(numbers::CASES)
}

/// A cause that is planted, and what rules are to say of it.
struct Case {
    rules: &'static [(RuleId, Stamp)],
    planted: &'static str,
    plant: fn(&UnderTest) -> Result<Attempt>,
}

/// How it went.
enum Attempt {
    Ran(Box<ClientRun>),
    /// This host does not have what it takes.
    NotRun(&'static str),
}

impl From<ClientRun> for Attempt {
    fn from(run: ClientRun) -> Self {
        Self::Ran(Box::new(run))
    }
}

impl Case {
    fn name(&self) -> String {
        let ids: Vec<_> = self.rules.iter().map(|(id, _)| id.slug()).collect();
        format!("{}: {}", ids.join(" and "), self.planted)
    }

    fn speaks_of(&self, rule: RuleId) -> bool {
        self.rules.iter().any(|(id, _)| *id == rule)
    }

    /// Others on this machine can hide a cause, so that what did not show is played again.
    fn run(&self, under_test: &UnderTest) -> Result<Result<Outcome, &'static str>> {
        let mut attempt = 1;
        loop {
            let before = Reading::take()?;
            let run = match (self.plant)(under_test)? {
                Attempt::Ran(run) => run,
                Attempt::NotRun(why) => return Ok(Err(why)),
            };
            let noise = Reading::take()?.noise_since(&before);
            if self.shows(&run)? || noise.is_quiet() || attempt == MOST_ATTEMPTS {
                return Ok(Ok(self.judged(&run, attempt, noise)?));
            }
            attempt += 1;
            noise::wait()?;
        }
    }

    /// Each rule says what it is to say, and the client ends as the stamp has it.
    fn shows(&self, run: &ClientRun) -> Result<bool> {
        let judgement = judgement(&run.record)?;
        let says = |(rule, stamp): &(RuleId, Stamp)| {
            judgement.reasons.iter().any(|one| one.rule == *rule && one.stamp == *stamp)
        };
        Ok(self.rules.iter().all(says) && has_its_code(run, judgement))
    }

    fn judged(&self, run: &ClientRun, attempt: u32, noise: Noise) -> Result<Outcome> {
        let expected = self.rules.iter().map(|(rule, stamp)| format!("{rule} {stamp}"));
        let expected: Vec<_> = expected.collect();
        let seen = format!(
            "{} expected; {noise}{}; {}",
            expected.join(" and "),
            if attempt > 1 { format!(", attempt {attempt}") } else { String::new() },
            show(run)?
        );
        Ok(Outcome::show(self.name(), seen, self.shows(run)?))
    }
}

/// Scripts read what a client ends with: it says what the stamp says.
fn has_its_code(run: &ClientRun, judgement: &Judgement) -> bool {
    let code = match (&run.record.outcome.ending, judgement.stamp) {
        (Ending::Failed { .. }, _) => FAILED,
        (_, Stamp::Invalid) => INVALID,
        _ => 0,
    };
    run.code == code
}

/// What was told, without the remedies.
fn show(run: &ClientRun) -> Result<String> {
    let judgement = judgement(&run.record)?;
    let fact = |text: &str| text.split(';').next().unwrap_or_default().to_owned();
    let reasons = judgement.reasons.iter();
    let reasons =
        reasons.map(|one| format!("\n      {} {}: {}", one.rule, one.stamp, fact(&one.text)));
    let reasons: String = reasons.collect();
    Ok(format!("{} (exit code {}){reasons}", judgement.stamp, run.code))
}

/// A test with a server of its own over a pair of virtual interfaces.
fn veth(under_test: &UnderTest, words: &str) -> Result<Attempt> {
    on(&Testbed::new(under_test, Path::Veth)?, words)
}

/// The same on hosts that were prepared.
fn on(bed: &Testbed, words: &str) -> Result<Attempt> {
    let _server = bed.serve("")?;
    while_it_runs(bed, words, Duration::ZERO, || Ok(()))
}

/// A test in which something happens when its client has run for a while.
fn while_it_runs(
    bed: &Testbed,
    words: &str,
    after: Duration,
    happens: impl FnOnce() -> Result<()>,
) -> Result<Attempt> {
    run_client(bed.client(words), after, happens).map(Attempt::from)
}

/// What cannot be planted, by rule.
const NEVER_RUN: [(RuleId, &str); 8] = [
    (RuleId::CpuSteal, "steal (it is the hypervisor's)"),
    (RuleId::CpuFrequencyDrop, "clock speed (no CPU can be made hot on demand)"),
    (RuleId::ClockOffsetUncertain, "one-way delays (all namespaces have the clock of one kernel)"),
    (RuleId::SenderBursts, "bursts (no option of `linerate test` asks for them)"),
    (RuleId::JitterOfReceiver, "jitter of heaps (the same)"),
    (RuleId::CountersContradict, "a contradiction (needs a peer that counts wrong)"),
    (RuleId::UdpPacingWithoutFq, "pacing by the kernel (no option of `linerate test` asks for it)"),
    (RuleId::HostCountersMissing, "a host that is silent is not judged, and said to be so"),
];
/// What `linerate test` ends with if it failed, and if the result is INVALID.
const FAILED: i32 = 1;
const INVALID: i32 = 3;
/// Of a case on a machine that is not quiet.
const MOST_ATTEMPTS: u32 = 3;
/// What `--only` calls the runs in which nothing is planted.
const CLEAN: &str = "clean";

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_rule_has_a_case_or_a_reason_not_to() {
        let rules: BTreeSet<_> = analysis::trust_rules().collect();
        let ran = cases().flat_map(|case| case.rules.iter().map(|(id, _)| *id));
        let known = ran.chain(NEVER_RUN.iter().map(|(id, _)| *id)).chain([clean::ALWAYS_TOLD]);
        assert_eq!(rules, known.collect());
    }
}
