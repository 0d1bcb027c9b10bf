//! Faults drawn at random. Whoever wrote the rules does not judge: a fault is the cause if its
//! removal lets more arrive.

mod case;
pub(super) mod class;
mod families;
mod fault;
mod scene;
mod tally;
mod trial;
mod written;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::{Value, json};

use super::machine::Machines;
use super::needs;
use super::percent;
use super::run::Runner;
use super::scenario::Need;
use super::wrapping::NOBODY;
use crate::output::{say, transient};
use case::Case;
use class::Class;
use tally::Tally;
use trial::Trial;

/// Cases drawn at random
#[derive(Debug, Args)]
#[command(next_help_heading = "Faults drawn at random")]
pub(super) struct RandomFlags {
    /// Draw so many cases at random, in place of the scenarios: hosts, a test, and none, one or two
    /// faults. A fault whose removal gains less than a tenth does not count. --only is for families
    #[arg(long, value_name = "COUNT", conflicts_with_all = ["times", "list", "judge"], value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) random: Option<u32>,
    /// The same seed draws the same cases
    #[arg(long, default_value_t = 1, value_name = "NUMBER", requires = "random")]
    seed: u64,
    /// Begin with the case of this number
    #[arg(long, default_value_t = 1, value_name = "NUMBER", requires = "random")]
    from: u64,
    /// Run each case so often with its faults, and report how often the headline is the same
    #[arg(long, default_value_t = 1, value_name = "COUNT", requires = "random", value_parser = clap::value_parser!(u32).range(1..=100))]
    repeats: u32,
    /// An iperf3 to draw in turns with the installed one, where the other end is one; may be given
    /// several times
    #[arg(long, value_name = "FILE", requires = "random")]
    peer: Vec<PathBuf>,
    /// Write each case that is not right to a folder, as a scenario [default: target/faults-random]
    #[arg(long, value_name = "DIR", requires = "random")]
    failed: Option<PathBuf>,
}

impl RandomFlags {
    pub(super) fn failed(&self, target: &Path) -> PathBuf {
        self.failed.clone().unwrap_or_else(|| target.join("faults-random"))
    }

    fn peers(&self) -> Result<Vec<PathBuf>> {
        let absolute = |path: &PathBuf| path.canonicalize();
        let found = self
            .peer
            .iter()
            .map(|path| absolute(path).with_context(|| format!("no {}", path.display())));
        found.collect()
    }

    /// Runs cases until so many count.
    pub(super) fn run(
        &self,
        runner: &Runner<'_>,
        only: &[String],
        machines: &Machines,
        failed: &Path,
        json: Option<&Path>,
    ) -> Result<String> {
        let mut course = Course::of(runner, failed);
        let wanted = self.random.unwrap_or(0) as usize;
        let peers = self.peers()?;
        let draw = |number| Case::draw(self.seed, number).with_one_of(&peers, number);
        let cases = (self.from..).map(draw);
        for case in cases.filter(|case| is_asked(&case.family, only)).take(wanted * MOST_PER_CASE) {
            let done = course.tally.total().all();
            if done >= wanted || course.is_stopped {
                break;
            }
            for machine in &machines.machine {
                let case = case.clone().on(*machine);
                transient(format!("[{}/{wanted}] {} {}", done + 1, case.id, case.family));
                course.go_on(&case, self.repeats);
            }
        }
        transient("");
        if let Some(path) = json {
            let text = format!("{:#}\n", course.as_json());
            fs::write(path, text).with_context(|| path.display().to_string())?;
        }
        course.verdict(wanted)
    }
}

/// A family, or one of two.
fn is_asked(family: &str, only: &[String]) -> bool {
    let mut families = family.split('+');
    only.is_empty() || families.any(|one| only.iter().any(|name| one.starts_with(name.as_str())))
}

/// What came of all cases so far.
struct Course<'a> {
    runner: &'a Runner<'a>,
    failed: &'a Path,
    missing: BTreeMap<Need, bool>,
    nobody_can_run: bool,
    tally: Tally,
    /// Cases by machine.
    machines: Tally,
    trials: Vec<Value>,
    not_run: usize,
    broken: Vec<String>,
    alarms: Vec<String>,
    /// Runs with the commonest headline of their case, and all.
    alike: (usize, usize),
    is_stopped: bool,
}

impl<'a> Course<'a> {
    fn of(runner: &'a Runner<'a>, failed: &'a Path) -> Self {
        Self {
            runner,
            failed,
            missing: BTreeMap::new(),
            nobody_can_run: can_be_run_by_nobody(&runner.under_test.program),
            tally: Tally::default(),
            machines: Tally::default(),
            trials: Vec::new(),
            not_run: 0,
            broken: Vec::new(),
            alarms: Vec::new(),
            alike: (0, 0),
            is_stopped: false,
        }
    }

    /// What cannot be planted, or ends in an error, does not keep others from being run.
    fn go_on(&mut self, case: &Case, repeats: u32) {
        let outcome = self.can_be_run(case).and_then(|can_be_run| {
            if !can_be_run {
                self.not_run += 1;
                return Ok(());
            }
            let trial = Trial::settled(self.runner, case, repeats)?;
            self.is_stopped = trial.is_none();
            trial.map_or(Ok(()), |trial| self.note(&trial))
        });
        if let Err(error) = outcome {
            transient("");
            let (planted, test) = (case.planted(), case.scene.words());
            let why = format!("{} {} ({planted}; {test}): {error:#}", case.id, case.family);
            say(format!("FAILED {why}"));
            self.broken.push(why);
        }
    }

    fn can_be_run(&mut self, case: &Case) -> Result<bool> {
        if case.scene.is_unprivileged() && !self.nobody_can_run {
            return Ok(false);
        }
        for need in case.scenario(0).needs {
            let is_met = match self.missing.get(&need) {
                Some(known) => *known,
                None => needs::is_met(&need)?,
            };
            self.missing.insert(need, is_met);
            if !is_met {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn note(&mut self, trial: &Trial) -> Result<()> {
        transient("");
        let (case, family) = (&trial.case, &trial.case.family);
        self.trials.push(trial.as_json());
        if !trial.is_proven() {
            self.tally.note_unproven(family);
            self.machines.note_unproven(&case.machine.name());
            let (planted, gains) = (case.planted(), gains(trial));
            say(format!("-     {} {family}: not proven ({planted}; gains {gains})", case.id));
            return Ok(());
        }
        self.tally.note(family, trial.class);
        self.machines.note(&case.machine.name(), trial.class);
        self.alike.0 += trial.alike();
        self.alike.1 += trial.said.len();
        if trial.is_false_alarm() {
            self.alarms.push(case.id.clone());
        }
        say_what_came(trial);
        if trial.class == Class::Right {
            return Ok(());
        }
        written::write(self.failed, &case.scenario(trial.best().unwrap_or(0)))
    }

    fn verdict(&self, wanted: usize) -> Result<String> {
        let total = self.tally.total();
        say(format!("\n{}", self.tally));
        say(format!("\n{}", self.machines));
        self.say_what_is_left_out();
        ensure!(!self.is_stopped, "faults: interrupted; what was planted is taken away");
        let broken = self.broken.join("; ");
        ensure!(broken.is_empty(), "faults: some cases failed: {broken}");
        let all = total.all();
        ensure!(all >= wanted, "faults: only {all} of {wanted} cases cost enough to count");
        let alarms = self.alarms.join(", ");
        ensure!(alarms.is_empty(), "faults: findings above note on clean runs: {alarms}");
        let (right, near) = (total.share_right(), total.share_near());
        let sum = format!(
            "faults: of {all} cases drawn at random {} right, {} right or near",
            percent(right),
            percent(near)
        );
        ensure!(
            right >= LEAST_RIGHT && near >= LEAST_NEAR,
            "{sum}; {} and {} are asked; the others are in {}",
            percent(LEAST_RIGHT),
            percent(LEAST_NEAR),
            self.failed.display()
        );
        Ok(sum)
    }

    fn say_what_is_left_out(&self) {
        if self.not_run > 0 {
            say(format!("not run, as this system lacks what they need: {}", self.not_run));
        }
        let (alike, all) = self.alike;
        if all > self.tally.total().all() {
            let share = percent(alike as f64 / all.max(1) as f64);
            say(format!("equal headlines of repeated runs: {alike} of {all} ({share})"));
        }
    }

    fn as_json(&self) -> Value {
        let total = self.tally.total();
        json!({
            "right": total.right, "near": total.near, "wrong": total.wrong,
            "not_run": self.not_run, "failed": self.broken, "cases": self.trials,
        })
    }
}

fn say_what_came(trial: &Trial) {
    let (case, said) = (&trial.case, trial.shown());
    say(format!("{:<5} {} {}: {}", trial.class.word(), case.id, case.family, said.sentence()));
    if trial.class != Class::Right {
        say(format!("      planted: {}; gains {}", case.planted(), gains(trial)));
        say(format!("      said {}; expected {}", said, trial.expected_shown()));
        say(format!("      run {} times; in the last, {}", trial.attempts, trial.noise));
        if let Some(peer) = &case.peer {
            say(format!("      the peer is {}", peer.display()));
        }
    }
}

/// What arrives without each fault, of what arrives with all.
fn gains(trial: &Trial) -> String {
    let shown = |gain: &f64| format!("{:.2}", gain.min(MOST_SHOWN));
    let gains: Vec<_> = trial.gains().iter().map(shown).collect();
    if gains.is_empty() { "none".to_owned() } else { gains.join(", ") }
}

/// A build may lie in a folder that only its owner can enter.
fn can_be_run_by_nobody(program: &Path) -> bool {
    let mut command = Command::new(NOBODY[0]);
    let output = command.args(&NOBODY[1..]).arg(program).arg("--version").output();
    output.is_ok_and(|output| output.status.success())
}

/// Of all cases.
const LEAST_RIGHT: f64 = 0.93;
const LEAST_NEAR: f64 = 0.98;
/// A fault with which nothing arrives gains without bound.
const MOST_SHOWN: f64 = 9_999.0;
/// Draws for each case that counts: the others cost nothing, or cannot be planted here.
const MOST_PER_CASE: usize = 20;
