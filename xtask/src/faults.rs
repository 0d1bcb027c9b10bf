//! `faults`: one cause at a time, planted between hosts of our own, and whether the verdict
//! names it.
//!
//! Scenarios are files below `faults/scenarios`. Each is run without its cause and with it,
//! in turns: a cause that costs nothing proves nothing.

mod corpus;
pub(crate) mod expected;
mod kept;
pub(crate) mod machine;
mod matrix;
pub(crate) mod needs;
mod random;
mod remedied;
pub(crate) mod run;
mod said;
pub(crate) mod scenario;
mod seen;
pub(crate) mod setting;
pub(crate) mod step;
mod wrapping;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Args;
use linux::event::StopSignals;

use crate::hosts::{self, UnderTest};
use crate::output::{say, transient};
use crate::packages;
use crate::workspace::Workspace;
use machine::Machines;
use matrix::Matrix;
use random::RandomFlags;
use run::{Outcome, Runner};
use scenario::{Run, Scenario};

/// Plants one cause at a time and looks whether the verdict names it
#[derive(Debug, Args)]
pub(crate) struct Faults {
    /// Only scenarios, or families of --random, whose names begin with one of these
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// Rounds of each scenario
    #[arg(long, default_value_t = 1, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=100))]
    times: u32,
    /// Some quick scenarios, in less than a minute; with --random, run nothing again
    #[arg(long)]
    short: bool,
    /// List the scenarios and what they plant, and run none
    #[arg(long)]
    list: bool,
    /// Write what came of each round to a file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Keep the record of each run with a cause in a folder
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Run nothing: judge the records of such a folder, or of xtask/src/faults/corpus, by the rules of
    /// this tree
    #[arg(long, value_name = "DIR", conflicts_with = "keep")]
    judge: Option<PathBuf>,
    /// Program to put to the test [default: built from this tree]
    #[arg(long, value_name = "FILE")]
    linerate: Option<PathBuf>,
    /// Apply the settings that right verdicts name, and look whether more arrives then
    #[arg(long, conflicts_with_all = ["judge", "random"])]
    remedies: bool,
    #[command(flatten)]
    machines: Machines,
    #[command(flatten)]
    at_random: RandomFlags,
}

impl Faults {
    pub(crate) fn run(self) -> Result<String> {
        let workspace = Workspace::find()?;
        if self.at_random.random.is_some() {
            return self.run_random(&workspace);
        }
        if let Some(folder) = self.judge.as_ref().filter(|one| one.join(corpus::LABELS).exists()) {
            return corpus::judge(folder);
        }
        let mut scenarios = Scenario::all(&workspace.root.join("xtask/src/faults/scenarios"))?;
        if let Some(folder) = &self.judge {
            // Cases drawn at random lie beside their records.
            scenarios.extend(Scenario::all(folder)?);
        }
        let scenarios: Vec<_> = scenarios.into_iter().filter(|one| self.is_asked(one)).collect();
        ensure!(!scenarios.is_empty(), "no scenario has such a name; --list lists them");
        if self.list {
            for scenario in &scenarios {
                say(format!("{:<24} {}", scenario.name, scenario.planted));
            }
            return Ok(format!("faults: {} scenarios", scenarios.len()));
        }
        if let Some(folder) = &self.judge {
            return kept::judge(folder, &scenarios);
        }
        let program = self.program(&workspace)?;
        if let Some(reason) = hosts::prepare() {
            return Ok(format!("faults: not run, since no hosts can be made here: {reason}"));
        }
        packages::provide(&packages::FAULTS)?;
        let scenarios = self.machines.each(&scenarios);
        self.run_all(&UnderTest { program, short: self.short }, &scenarios)
    }

    fn program(&self, workspace: &Workspace) -> Result<PathBuf> {
        match &self.linerate {
            Some(path) => path.canonicalize().with_context(|| format!("no {}", path.display())),
            None => workspace.build_release(),
        }
    }

    fn run_random(&self, workspace: &Workspace) -> Result<String> {
        let program = self.program(workspace)?;
        if let Some(reason) = hosts::prepare() {
            return Ok(format!("faults: not run, since no hosts can be made here: {reason}"));
        }
        packages::provide(&packages::FAULTS)?;
        let under_test = UnderTest { program, short: self.short };
        let interrupts = StopSignals::open().context("cannot take Ctrl-C")?;
        let is_stopped = || interrupts.arrived();
        let runner =
            Runner { under_test: &under_test, keep: self.keep.as_deref(), is_stopped: &is_stopped };
        let failed = self.at_random.failed(&workspace.target);
        let json = self.json.as_deref();
        self.at_random.run(&runner, &self.only, &self.machines, &failed, json)
    }

    fn is_asked(&self, scenario: &Scenario) -> bool {
        let is_named = |name: &String| scenario.name.starts_with(name.as_str());
        let is_named = self.only.is_empty() || self.only.iter().any(is_named);
        is_named && (!self.short || scenario.run == Run::Short)
    }

    fn run_all(&self, under_test: &UnderTest, scenarios: &[Scenario]) -> Result<String> {
        // From here on Ctrl-C ends nothing by itself: what was planted is taken away first.
        let interrupts = StopSignals::open().context("cannot take Ctrl-C")?;
        let is_stopped = || interrupts.arrived();
        if self.remedies {
            return remedied::run(under_test, scenarios, &is_stopped);
        }
        let runner = Runner { under_test, keep: self.keep.as_deref(), is_stopped: &is_stopped };
        let mut course = Course::default();
        for (number, scenario) in scenarios.iter().enumerate() {
            transient(format!("[{}/{}] {}", number + 1, scenarios.len(), scenario.name));
            course.go_on(self.came_of(&runner, scenario));
            if course.is_stopped {
                break;
            }
        }
        transient("");
        if let Some(path) = &self.json {
            fs::write(path, course.as_json()).with_context(|| path.display().to_string())?;
        }
        course.verdict()
    }

    /// What cannot be planted, or ends in an error, does not keep others from being run.
    fn came_of(&self, runner: &Runner<'_>, scenario: &Scenario) -> Came {
        let name = &scenario.name;
        let came = needs::missing(scenario).and_then(|missing| {
            if let Some(why) = missing {
                return Ok(Came::NotRun(format!("{name} ({why})")));
            }
            let outcome = Outcome::measure(runner, scenario, self.times)?;
            Ok(outcome.map_or(Came::Stopped, Came::Ran))
        });
        came.unwrap_or_else(|error| Came::Failed(format!("{name}: {error:#}")))
    }
}

/// What came of one scenario.
enum Came {
    Ran(Outcome),
    NotRun(String),
    Failed(String),
    Stopped,
}

/// What came of all scenarios so far.
#[derive(Default)]
struct Course {
    outcomes: Vec<Outcome>,
    not_run: Vec<String>,
    failed: Vec<String>,
    is_stopped: bool,
}

impl Course {
    fn go_on(&mut self, came: Came) {
        transient("");
        match came {
            Came::Ran(outcome) => self.note(outcome),
            Came::NotRun(why) => {
                say(format!("-     not run: {why}"));
                self.not_run.push(why);
            }
            Came::Failed(why) => {
                say(format!("FAILED {why}"));
                self.failed.push(why);
            }
            Came::Stopped => self.is_stopped = true,
        }
    }

    /// Shows it at once: the next one takes its time.
    fn note(&mut self, outcome: Outcome) {
        let cost =
            outcome.cost.map_or_else(String::new, |cost| format!(", costs {}", percent(cost)));
        for round in &outcome.rounds {
            let judged = &round.judged;
            let word = match (outcome.is_proven(), judged.is_right) {
                (false, _) => "?    ",
                (true, true) => "ok   ",
                (true, false) => "WRONG",
            };
            let expected = &outcome.expected;
            say(format!("{word} {}{cost}; {expected} expected; {}", outcome.scenario, judged.text));
            if round.attempts > 1 {
                say(format!("      run {} times; in the last, {}", round.attempts, round.noise));
            }
            if outcome.is_control && !judged.alarms.is_empty() {
                let alarms: Vec<_> = judged.alarms.iter().map(|rule| rule.slug()).collect();
                say(format!("      above note: {}", alarms.join(", ")));
            }
        }
        self.outcomes.push(outcome);
    }

    /// Fails if too little is right, or a clean run alarms.
    fn verdict(&self) -> Result<String> {
        let proven = self.outcomes.iter().filter(|outcome| outcome.is_proven());
        let matrix = Matrix::of(proven);
        say(format!("\n{matrix}"));
        self.say_what_is_left_out();
        ensure!(!self.is_stopped, "faults: interrupted; what was planted is taken away");
        let (right, all) = matrix.counts();
        let failed = self.failed.join("; ");
        ensure!(
            failed.is_empty(),
            "faults: {right} of {all} runs right, and some failed: {failed}"
        );
        let alarmed = self.alarmed();
        ensure!(alarmed.is_empty(), "faults: findings above note on clean runs: {alarmed}");
        let share = matrix.share_right().unwrap_or(0.0);
        let sum = format!("faults: {right} of {all} runs right ({})", percent(share));
        ensure!(share >= LEAST_RIGHT, "{sum}, less than {}", percent(LEAST_RIGHT));
        Ok(sum)
    }

    fn say_what_is_left_out(&self) {
        let unproven = self.outcomes.iter().filter(|outcome| !outcome.is_proven());
        let unproven: Vec<_> = unproven.map(|outcome| outcome.scenario.as_str()).collect();
        if !unproven.is_empty() {
            say(format!(
                "not counted, as the cause costs too little here: {}",
                unproven.join(", ")
            ));
        }
        if !self.not_run.is_empty() {
            say(format!("not run: {}", self.not_run.join("; ")));
        }
    }

    fn alarmed(&self) -> String {
        let controls = self.outcomes.iter().filter(|outcome| outcome.is_control);
        let alarmed = controls
            .filter(|outcome| outcome.rounds.iter().any(|round| !round.judged.alarms.is_empty()));
        alarmed.map(|outcome| outcome.scenario.as_str()).collect::<Vec<_>>().join(", ")
    }

    fn as_json(&self) -> String {
        let outcomes: Vec<_> = self.outcomes.iter().map(Outcome::as_json).collect();
        let all = serde_json::json!({ "scenarios": outcomes, "not_run": self.not_run, "failed": self.failed });
        format!("{all:#}\n")
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// Of all runs in which a cause was planted and proven, or none was.
const LEAST_RIGHT: f64 = 0.95;
