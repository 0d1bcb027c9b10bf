//! Tunings of a simulated host, on which it is known what each setting is worth.

use std::time::Duration;

use measurement::outcome::{CpuUse, Outcome};
use measurement::plan::PlanDraft;
use measurement::remedy::Setting;
use measurement::{
    Conclusion, Direction, DirectionOutcome, Judgement, RecordSet, Role, Throughput, Transport,
    Verdict,
};

use super::candidate::Tuners;
use super::test_runner::TestRunner;
use super::*;
use crate::search::{Next, Search, Task, Trial};
use crate::tuner::{Outlook, Tuner};

/// A host whose verdict names all its settings that are not made yet.
struct Simulated {
    /// Settings, each with how many times as fast and as costly a test is with it.
    worth: Vec<(Setting, f64, f64)>,
    made: Vec<Setting>,
    tests: u64,
    /// Settings that a verdict names, at most.
    most_named: usize,
}

impl Simulated {
    fn new(worth: &[(&str, f64, f64)]) -> Self {
        let worth = worth.iter().map(|(name, rate, cpu)| (setting(name), *rate, *cpu));
        Self { worth: worth.collect(), made: Vec::new(), tests: 0, most_named: 8 }
    }

    fn record(&mut self, task: &Task) -> TestRecord {
        self.tests += 1;
        // Half a percent up or down, as tests of one setting differ.
        let noise = 1.0 + ((self.tests * 37 % 11) as f64 - 5.0) / 1_000.0;
        let made = self.worth.iter().filter(|(setting, ..)| self.made.contains(setting));
        let (rate, cpu) = made.fold((1e8, 1.0), |all, one| (all.0 * one.1, all.1 * one.2));
        let mut record = TestRecord::imported(task.row.plan.clone(), "a simulated host");
        let delivered = Throughput::over(whole(rate * noise), Duration::from_secs(1));
        let direction = DirectionOutcome {
            delivered: Some(delivered),
            ..DirectionOutcome::unknown(Direction::Send)
        };
        // For a byte each costs as much, however many there are.
        let used = CpuUse { total: cpu * rate / 1e7, ..CpuUse::default() };
        record.outcome = Outcome {
            ending: Ending::Completed,
            directions: vec![direction],
            cpu: Some(used),
            peer_cpu: Some(used),
            ..Outcome::unknown()
        };
        let missing = self.worth.iter().filter(|(setting, ..)| !self.made.contains(setting));
        let findings = missing.map(|(setting, ..)| finding(setting)).take(self.most_named);
        let verdict = Verdict {
            conclusion: Conclusion::Limited,
            sentence: "something limits".to_owned(),
            findings: findings.collect(),
            would_decide: None,
        };
        record.judgement = Some(Judgement { verdict: Some(verdict), ..Judgement::default() });
        record
    }
}

impl TestRunner for Simulated {
    fn search(&mut self, search: &mut dyn Search) -> Results {
        let mut done: Vec<Trial> = Vec::new();
        let end = loop {
            let Next::Run(task) = search.next(&done) else { break search.next(&done) };
            let result = TestRunner::set(self, &task.row).map(|()| self.record(&task));
            done.push(Trial { task, result, took: Duration::from_secs(1) });
        };
        let (mut records, mut error) = (Vec::new(), None);
        for trial in done {
            match trial.result {
                Ok(record) => records.extend(trial.task.purpose.is_result().then_some(record)),
                Err(why) => error = Some(why),
            }
        }
        let error = error.filter(|_| end == Next::Stop);
        Results { records: RecordSet::new(records), error, not_run: Vec::new() }
    }

    fn set(&mut self, row: &PlannedRow) -> Result<(), SessionError> {
        Tuner::set(self, &row.settings).map_err(SessionError::Setting)
    }
}

impl Tuners for Simulated {
    fn of(&mut self, host: &Role) -> Option<&mut dyn Tuner> {
        (*host == Role::Here).then_some(self as &mut dyn Tuner)
    }
}

impl Tuner for Simulated {
    fn look(&mut self, setting: &Setting) -> Result<Outlook, String> {
        let is_in_effect = self.made.contains(setting);
        Ok(Outlook {
            current: "0".to_owned(),
            is_in_effect,
            undo: vec!["undo".to_owned()],
            risks: Vec::new(),
            rewriters: Vec::new(),
        })
    }

    fn set(&mut self, wanted: &[Setting]) -> Result<(), String> {
        self.made = wanted.to_vec();
        if wanted.iter().any(|one| one.to_string().contains("refused")) {
            self.made.clear();
            return Err("the kernel refused it".to_owned());
        }
        Ok(())
    }

    fn effective(&self, _: &Setting) -> Option<String> {
        Some("1".to_owned())
    }
}

fn setting(name: &str) -> Setting {
    Setting::Sysctl { name: format!("net.test.{name}"), value: "1".to_owned() }
}

fn finding(setting: &Setting) -> Finding {
    let changes = [(Role::Here, setting.clone())];
    Finding { text: setting.to_string(), ..candidate::tests::finding(&changes) }
}

fn tune() -> Tune {
    let plan = PlanDraft::new(Transport::Tcp, Direction::Send).check().expect("a plan");
    Tune {
        row: PlannedRow::of_plan(plan),
        goal: Metric::Throughput,
        rule: AbRule { most_pairs: 16, margin_ratio: 0.02, confidence: 0.95 },
        guard: 0.1,
        seed: 1,
        most_attempts: 8,
    }
}

/// A tuning with that answer to every question.
fn tuned(host: &mut Simulated, answer: &Answer) -> Tuned {
    tune().run_by(host, &mut |_| answer.clone())
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
fn whole(bytes: f64) -> u64 {
    bytes.round() as u64
}

fn outcomes(tuned: &Tuned) -> Vec<AttemptOutcome> {
    tuned.attempts.iter().map(|attempt| attempt.outcome).collect()
}

#[test]
fn what_helps_stays_and_all_else_is_undone() {
    use AttemptOutcome::{Helped, Undone};
    let worth =
        [("none", 1.0, 1.0), ("slower", 0.5, 1.0), ("faster", 2.0, 1.0), ("more", 1.2, 1.0)];
    let mut host = Simulated::new(&worth);
    let tuned = tuned(&mut host, &Answer::All);
    assert_eq!(outcomes(&tuned), [Undone, Undone, Helped, Helped]);
    assert_eq!(host.made, [setting("faster"), setting("more")]);
    let kept: Vec<_> = tuned.kept.iter().map(|one| one.change.setting.clone()).collect();
    assert_eq!(kept, host.made);
    let check = tuned.check.expect("a check");
    let gain = check.metrics[0].effect.expect("an effect");
    assert!((gain.ratio - 2.4).abs() < 0.05, "{gain:?}");
    assert!(gain.interval.is_some_and(|interval| interval.low > 1.0), "{gain:?}");
    assert!(tuned.error.is_none());
}

#[test]
fn a_gain_that_costs_more_than_the_guard_is_undone() {
    let mut host = Simulated::new(&[("costly", 1.5, 1.5)]);
    let tuned = tuned(&mut host, &Answer::All);
    assert_eq!(outcomes(&tuned), [AttemptOutcome::Undone]);
    let comparison = tuned.attempts[0].comparison.as_ref().expect("tests");
    assert_eq!(comparison.hurt().map(|hurt| hurt.metric), Some(Metric::Cpu));
    assert!(host.made.is_empty() && tuned.check.is_none() && tuned.kept.is_empty());
}

#[test]
fn a_change_that_cannot_be_made_ends_no_tuning() {
    let mut host = Simulated::new(&[("refused", 9.0, 1.0), ("faster", 2.0, 1.0)]);
    let tuned = tuned(&mut host, &Answer::All);
    assert_eq!(outcomes(&tuned), [AttemptOutcome::Undone, AttemptOutcome::Helped]);
    assert!(tuned.attempts[0].reason.as_ref().is_some_and(|why| why.contains("refused it")));
    assert_eq!(host.made, [setting("faster")]);
}

#[test]
fn what_the_user_declines_is_not_made() {
    let mut host = Simulated::new(&[("faster", 2.0, 1.0)]);
    let declined = tuned(&mut host, &Answer::No("you declined it"));
    assert_eq!(outcomes(&declined), [AttemptOutcome::NotTried]);
    assert_eq!(declined.attempts[0].reason.as_deref(), Some("you declined it"));
    assert_eq!((host.tests, host.made.len()), (1, 0));
}

#[test]
fn a_tuning_that_is_stopped_leaves_nothing() {
    let both = Simulated::new(&[("faster", 2.0, 1.0), ("more", 1.2, 1.0)]);
    let mut host = Simulated { most_named: 1, ..both };
    let mut asked = 0;
    let stopped = tune().run_by(&mut host, &mut |_| {
        asked += 1;
        if asked == 1 { Answer::All } else { Answer::Stop }
    });
    assert!(matches!(stopped.error, Some(SessionError::Interrupted)), "{:?}", stopped.error);
    assert_eq!(outcomes(&stopped), [AttemptOutcome::Helped]);
    assert!(host.made.is_empty() && stopped.kept.is_empty());
}

#[test]
fn no_more_findings_are_tried_than_asked_for() {
    let mut host = Simulated::new(&[("a", 1.0, 1.0), ("b", 1.0, 1.0), ("c", 1.0, 1.0)]);
    let tune = Tune { most_attempts: 2, ..tune() };
    let tuned = tune.run_by(&mut host, &mut |_| Answer::All);
    assert_eq!(tuned.attempts.len(), 2);
    assert!(host.made.is_empty());
}
