//! Runs in which nothing is planted: nothing is to be said of them, unless a witness says that
//! the machine was not quiet.

use std::time::Duration;

use anyhow::Result;
use measurement::{Reason, RuleId, Stamp};

use super::super::Outcome;
use super::has_its_code;
use crate::hosts::{ClientRun, Testbed, UnderTest, judgement, run_client};
use crate::output::say;
use testbed::noise::{self, Noise, Reading};
use testbed::topology::Path;

/// As many as it takes to judge all.
pub(super) fn run(under_test: &UnderTest) -> Result<Vec<Outcome>> {
    let runs = if under_test.short { 3 } else { 20 };
    let mut repeats = 0;
    let mut cases = Vec::new();
    for (run, words) in (1..=runs).zip(KINDS.iter().cycle()) {
        let seen = loop {
            let seen = Seen::measure(under_test, words)?;
            if !seen.is_disturbed()? || repeats == MOST_REPEATS * runs {
                break seen;
            }
            repeats += 1;
            say(format!("      repeated: {}", seen.shown()?));
        };
        cases.push(seen.judged(&format!("clean run {run} ({words})"))?);
    }
    say(format!(
        "{runs} clean runs; {repeats} more were repeated, as a witness saw others at work"
    ));
    Ok(cases)
}

/// A run, and what a witness says of it.
struct Seen {
    run: ClientRun,
    noise: Noise,
}

impl Seen {
    fn measure(under_test: &UnderTest, words: &str) -> Result<Self> {
        noise::wait()?;
        let bed = Testbed::new(under_test, Path::Veth)?;
        let before = Reading::take()?;
        let server = bed.serve("")?;
        let run = run_client(bed.client(&format!("{words} {PACED}")), Duration::ZERO, || Ok(()))?;
        drop(server);
        let noise = Reading::take()?.noise_since(&before);
        Ok(Self { run, noise })
    }

    /// What was told, though nothing was planted.
    fn told(&self) -> Result<Vec<&Reason>> {
        let reasons = judgement(&self.run.record)?.reasons.iter();
        Ok(reasons.filter(|one| one.rule != ALWAYS_TOLD).collect())
    }

    /// All that was told is so, as the witness saw.
    fn is_disturbed(&self) -> Result<bool> {
        let told = self.told()?;
        Ok(!told.is_empty() && told.iter().all(|one| self.noise.confirms(one.rule)))
    }

    fn judged(&self, name: &str) -> Result<Outcome> {
        let judgement = judgement(&self.run.record)?;
        let right = judgement.stamp == Stamp::Valid
            && self.told()?.is_empty()
            && judgement.reasons.iter().any(|one| one.rule == ALWAYS_TOLD)
            && has_its_code(&self.run, judgement);
        Ok(Outcome::show(name, self.shown()?, right))
    }

    fn shown(&self) -> Result<String> {
        let stamp = judgement(&self.run.record)?.stamp;
        let told = self.told()?.into_iter();
        let told: Vec<_> = told.map(|one| format!("; {} {}", one.rule, one.text)).collect();
        Ok(format!("{stamp}; {}{}", self.noise, told.concat()))
    }
}

/// The rule that speaks of every path in software.
pub(super) const ALWAYS_TOLD: RuleId = RuleId::VirtualPath;
const KINDS: [&str; 4] = ["--tcp --send", "--udp --send", "--tcp --receive", "--udp --receive"];
const PACED: &str = "-b 200M -t 3s";
/// For each run, on average.
const MOST_REPEATS: u32 = 3;
