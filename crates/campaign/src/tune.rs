//! Tunes this host for a test ([`Tune`]): the verdict on it names changes, each of which is compared
//! with the settings before it, and stays in effect if it helps. It decides nothing about how
//! settings are made, which is a matter of a [`Tuner`](crate::Tuner).

mod candidate;
mod test_runner;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use measurement::host::Role;
use measurement::outcome::Ending;
use measurement::tune::{Attempt, AttemptOutcome, MetricsComparison, TriedChange};
use measurement::verdict::Finding;
use measurement::{AbRule, Metric, Stamp, TestRecord};
use session::SessionError;

use self::candidate::Candidate;
use self::test_runner::TestRunner;
use crate::runner::{Results, Runner};
use crate::search::{Alternate, PlannedRow, Repeat};

/// A tuning of this host for one row.
#[derive(Clone, Debug)]
pub struct Tune {
    /// The row before any change.
    pub row: PlannedRow,
    /// The metric that is to become better.
    pub goal: Metric,
    /// When a comparison ends.
    pub rule: AbRule,
    /// Loss of another metric above which a change is undone, as a share.
    pub guard: f64,
    /// Seed of the order of the tests.
    pub seed: u64,
    /// Findings whose changes are tried, at most.
    pub most_attempts: usize,
}

/// Changes that are to be tried together.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal<'a> {
    /// The finding that names the changes.
    pub finding: &'a Finding,
    /// The changes, with the current values.
    pub changes: &'a [TriedChange],
    /// Risks of the changes, and programs that may write the settings again, each a sentence without
    /// a full stop.
    pub cautions: &'a [String],
}

/// Which proposals may be tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// All of them.
    All,
    /// Those at these places; the user declined the others.
    Only(Vec<usize>),
    /// None, for this reason: a sentence without a full stop.
    No(&'static str),
    /// The tuning ends.
    Stop,
}

/// Result of a [`Tune`].
#[derive(Debug, Default)]
pub struct Tuned {
    /// Verdict on the first test; none: no test has one.
    pub verdict: Option<String>,
    /// The changes that verdicts named, in the order in which they were tried.
    pub attempts: Vec<Attempt>,
    /// The row before any change against that with all changes that helped.
    pub check: Option<MetricsComparison>,
    /// The changes that are in effect now, options of the test among them; the settings were made
    /// last by the [`Tuner`](crate::Tuner).
    pub kept: Vec<TriedChange>,
    /// Judged records of all tests.
    pub records: Vec<TestRecord>,
    /// Error that ended the tuning; none: it ran to its end.
    pub error: Option<SessionError>,
}

impl Tune {
    /// Runs the tuning. `ask` is asked once for all that a verdict proposes, but for what was
    /// agreed to before.
    ///
    /// At its end those settings are in effect whose changes helped, each by itself and, in a last
    /// comparison, all together; after an error none.
    pub fn run(
        &self,
        runner: &mut Runner<'_>,
        ask: &mut dyn FnMut(&[Proposal<'_>]) -> Answer,
    ) -> Tuned {
        self.run_by(runner, ask)
    }

    fn run_by(
        &self,
        runner: &mut dyn TestRunner,
        ask: &mut dyn FnMut(&[Proposal<'_>]) -> Answer,
    ) -> Tuned {
        let mut course = Course {
            tune: self,
            runner,
            ask,
            row: self.row.clone(),
            helped: Vec::new(),
            seen: BTreeSet::new(),
            agreed: BTreeSet::new(),
            tuned: Tuned::default(),
        };
        let ended = course.run();
        let Course { runner, helped, row, mut tuned, .. } = course;
        let helps = tuned.check.as_ref().is_some_and(MetricsComparison::helps);
        let settled = if helps && ended.is_ok() {
            runner.set(&row)
        } else {
            runner.set(&PlannedRow { settings: Vec::new(), elsewhere: Vec::new(), ..row })
        };
        if ended.is_ok() && settled.is_ok() && helps {
            tuned.kept = helped;
        }
        tuned.error = ended.and(settled).err();
        tuned
    }
}

/// A tuning under way.
struct Course<'t> {
    tune: &'t Tune,
    runner: &'t mut (dyn TestRunner + 't),
    ask: &'t mut dyn FnMut(&[Proposal<'_>]) -> Answer,
    /// The row with all changes that helped so far.
    row: PlannedRow,
    /// These changes.
    helped: Vec<TriedChange>,
    /// Changes that were tried or refused.
    seen: BTreeSet<String>,
    /// Changes that may be tried.
    agreed: BTreeSet<String>,
    tuned: Tuned,
}

impl Course<'_> {
    /// Tries changes until a verdict names no further one, and checks what helped.
    fn run(&mut self) -> Result<(), SessionError> {
        loop {
            let findings = self.findings()?;
            if !self.try_in_turn(&findings)? {
                break;
            }
        }
        if !self.helped.is_empty() {
            let rows = [self.tune.row.clone(), self.row.clone()];
            self.tuned.check = Some(self.compare(rows, "check")?);
        }
        Ok(())
    }

    /// Findings of the verdict on a test with the changes so far.
    fn findings(&mut self) -> Result<Vec<Finding>, SessionError> {
        let mut findings = Vec::new();
        for _ in 0..MOST_VERDICTS {
            let results = self.runner.search(&mut Repeat::once(vec![self.row.clone()]));
            let record = results.records.records.last().cloned();
            let verdict = record.as_ref().and_then(|it| it.judgement.clone());
            self.take(results, "verdict")?;
            let Some(judgement) = verdict else { continue };
            let is_valid = judgement.stamp != Stamp::Invalid;
            if let Some(verdict) = judgement.verdict {
                self.tuned.verdict.get_or_insert(verdict.sentence);
                findings = verdict.findings;
                // The verdict has the first few alone.
                let changeable = record.map(|record| analysis::changeable(&record));
                let is_new = |one: &Finding| !findings.contains(one);
                let further: Vec<_> = changeable.into_iter().flatten().filter(is_new).collect();
                findings.extend(further);
            }
            if is_valid {
                break;
            }
        }
        Ok(findings)
    }

    /// Tries changes until some of them help; whether they do, or the host has to be judged anew.
    fn try_in_turn(&mut self, findings: &[Finding]) -> Result<bool, SessionError> {
        let candidates = self.candidates(findings);
        for (key, finding, candidate) in self.agreed_of(candidates)? {
            if self.tried() >= self.tune.most_attempts {
                return Ok(false);
            }
            self.seen.insert(key);
            if self.attempt(finding, candidate)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Changes that findings name and that can be tried here; the others are left out.
    fn candidates<'f>(&mut self, findings: &'f [Finding]) -> Vec<Keyed<'f>> {
        let mut candidates = Vec::<Keyed<'f>>::new();
        for finding in findings {
            let Some(key) = Candidate::key(finding) else { continue };
            if self.seen.contains(&key) || candidates.iter().any(|(other, ..)| *other == key) {
                continue;
            }
            match self.candidate(finding) {
                Ok(candidate) => candidates.push((key, finding, candidate)),
                Err(reason) => {
                    self.seen.insert(key);
                    let changes = finding.remedy.changes.iter().cloned();
                    self.leave_out(finding, changes.map(TriedChange::not_made).collect(), reason);
                }
            }
        }
        candidates
    }

    /// Those that may be tried, after a question if there are new ones.
    fn agreed_of<'f>(&mut self, all: Vec<Keyed<'f>>) -> Result<Vec<Keyed<'f>>, SessionError> {
        let new = all.iter().filter(|(key, ..)| !self.agreed.contains(key));
        let proposals: Vec<_> = new
            .map(|(_, finding, Candidate { changes, cautions, .. })| Proposal {
                finding,
                changes,
                cautions,
            })
            .collect();
        if proposals.is_empty() || self.tried() >= self.tune.most_attempts {
            return Ok(all);
        }
        let (chosen, reason) = match (self.ask)(&proposals) {
            Answer::All => ((0..proposals.len()).collect(), ""),
            Answer::Only(places) => (places, DECLINED),
            Answer::No(reason) => (Vec::new(), reason),
            Answer::Stop => return Err(SessionError::Interrupted),
        };
        let mut place = 0;
        let mut agreed = Vec::new();
        for (key, finding, candidate) in all {
            let is_new = !self.agreed.contains(&key);
            if is_new && !chosen.contains(&place) {
                self.leave_out(finding, candidate.changes, reason.to_owned());
                self.seen.insert(key);
            } else {
                self.agreed.insert(key.clone());
                agreed.push((key, finding, candidate));
            }
            place += usize::from(is_new);
        }
        Ok(agreed)
    }

    /// Attempts that took tests.
    fn tried(&self) -> usize {
        let is_tried = |attempt: &&Attempt| attempt.outcome != AttemptOutcome::NotTried;
        self.tuned.attempts.iter().filter(is_tried).count()
    }

    /// The changes of a finding that can be made here.
    fn candidate(&mut self, finding: &Finding) -> Result<Candidate, String> {
        if self.runner.of(&Role::Here).is_none() {
            return Err("settings are not changed here".to_owned());
        }
        Candidate::of(finding, &self.row, self.runner)
    }

    fn leave_out(&mut self, finding: &Finding, changes: Vec<TriedChange>, reason: String) {
        self.tuned.attempts.push(Attempt {
            rule: finding.rule,
            finding: finding.text.clone(),
            changes,
            outcome: AttemptOutcome::NotTried,
            reason: Some(reason),
            comparison: None,
        });
    }

    /// Compares tests without and with changes. Whether the host has to be judged anew: they help,
    /// or tests failed with them.
    fn attempt(&mut self, finding: &Finding, candidate: Candidate) -> Result<bool, SessionError> {
        let label = (self.tried() + 1).to_string();
        let rows = [self.row.clone(), candidate.row.clone()];
        let compared = self.compare(rows, &label);
        let changes: Vec<_> =
            candidate.changes.into_iter().map(|change| self.read_back(change)).collect();
        // What cut the connection was undone meanwhile, and the tuner says so.
        let settled = self.runner.set(&self.row);
        let (comparison, reason) = match (compared, settled) {
            (Err(SessionError::Interrupted), _) => return Err(SessionError::Interrupted),
            (_, Err(error)) | (Err(error), _) => (None, Some(error.to_string())),
            (Ok(comparison), Ok(())) => (Some(comparison), None),
        };
        let helps = comparison.as_ref().is_some_and(MetricsComparison::helps);
        self.tuned.attempts.push(Attempt {
            rule: finding.rule,
            finding: finding.text.clone(),
            changes: changes.clone(),
            outcome: if helps { AttemptOutcome::Helped } else { AttemptOutcome::Undone },
            reason,
            comparison,
        });
        if helps {
            self.row = candidate.row;
            self.helped.extend(changes);
            return Ok(true);
        }
        let failed = self.tuned.attempts.last().is_some_and(|it| it.comparison.is_none());
        Ok(failed)
    }

    fn read_back(&mut self, change: TriedChange) -> TriedChange {
        let tuner = self.runner.of(&change.change.host);
        let effective = tuner.and_then(|tuner| tuner.effective(&change.change.setting));
        TriedChange { effective, ..change }
    }

    /// Tests of two rows in turn.
    fn compare(
        &mut self,
        rows: [PlannedRow; 2],
        label: &str,
    ) -> Result<MetricsComparison, SessionError> {
        let Tune { goal, rule, guard, seed, .. } = *self.tune;
        let seed = seed.wrapping_add(self.tuned.attempts.len() as u64);
        let mut search = Alternate::new(rows, rule, seed).by(goal);
        let results = self.runner.search(&mut search);
        self.take(results, label)?;
        let pairs = search.pairs();
        Ok(MetricsComparison {
            pairs: u32::try_from(pairs.counting.len()).unwrap_or(u32::MAX),
            repeated: pairs.left_out,
            finding: search.look().finding,
            metrics: analysis::comparison::compare_metrics(search.metrics(), goal, &rule, guard),
        })
    }

    /// Keeps the records of tests, with a label for what they were made for.
    fn take(&mut self, results: Results, label: &str) -> Result<(), SessionError> {
        let Results { records, error, .. } = results;
        let mut records = records.records;
        for record in &mut records {
            record.tags.insert(TUNE.to_owned(), label.to_owned());
        }
        let is_cut = |record: &TestRecord| record.outcome.ending == Ending::Interrupted;
        let was_interrupted = records.last().is_some_and(is_cut);
        self.tuned.records.extend(records);
        match error {
            Some(error) => Err(error),
            None if was_interrupted => Err(SessionError::Interrupted),
            None => Ok(()),
        }
    }
}

/// Changes by what they are told from others, what names them, and they themselves.
type Keyed<'f> = (String, &'f Finding, Candidate);

const DECLINED: &str = "you declined it";
/// The label of a record for what it was made for: `verdict`, the number of an attempt, `check`.
const TUNE: &str = "tune";
/// Tests for one verdict, of which an INVALID one is repeated.
const MOST_VERDICTS: u32 = 3;
