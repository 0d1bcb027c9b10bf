//! Tunings whose answer is known: misconfigurations that were planted, of which the remedy is kept;
//! clean hosts, on which nothing changes; and tunings that are killed, after which all is as before.

mod plant;
mod snapshot;

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use fastrand::Rng;
use measurement::TuneRecord;
use testbed::process::Running;

use self::plant::Plant;
use self::snapshot::Snapshot;
use super::Outcome;
use crate::faults::needs;
use crate::faults::scenario::Run;
use crate::faults::setting::Setting;
use crate::hosts::UnderTest;
use crate::output::{say, transient};
use crate::workspace::Workspace;

/// Runs the tunings, or those of one name.
pub(super) fn run(
    under_test: &UnderTest,
    only: Option<&str>,
    times: Option<u32>,
) -> Result<Vec<Outcome>> {
    let plants = Plant::all(&Workspace::find()?.root.join(PLANTS))?;
    let is_asked = |name: &str| only.is_none_or(|only| name.contains(only));
    let mut outcomes = Vec::new();
    for plant in plants.iter().filter(|one| is_asked(one.name())) {
        if plant.is_control() || (under_test.short && plant.fault.run != Run::Short) {
            continue;
        }
        transient(plant.name());
        match needs::missing(&plant.fault)? {
            Some(why) => say(format!("not run: {}: {why}", plant.name())),
            None => outcomes.push(planted(under_test, plant)?),
        }
    }
    let (clean, kills) = if under_test.short { (1, 3) } else { (10, 200) };
    let (clean, kills) = (times.unwrap_or(clean), times.unwrap_or(kills));
    for plant in plants.iter().filter(|one| one.is_control() && is_asked(one.name())) {
        outcomes.push(left_alone(under_test, plant, clean)?);
    }
    let killed_one = plants.iter().find(|one| one.name() == KILLED);
    if is_asked("killed") {
        outcomes.push(killed(under_test, killed_one.context("nothing to tune")?, kills)?);
    }
    ensure!(!outcomes.is_empty(), "no tuning has such a name: see {PLANTS}");
    Ok(outcomes)
}

/// The remedy is kept, its gain is shown, and what undoes it restores all.
fn planted(under_test: &UnderTest, plant: &Plant) -> Result<Outcome> {
    let mut seen = String::new();
    for _ in 0..TIMES {
        let bed = Bed::new(under_test, plant)?;
        let before = bed.snapshot()?;
        let record = bed.tune(&plant.tune)?;
        let told = told(&record);
        let changed = bed.snapshot()?.changed_since(&before);
        bed.take_back(&record)?;
        let left = bed.snapshot()?.changed_since(&before);
        let differs = !changed.is_empty() || record.kept.iter().all(|one| one.undo.is_empty());
        let is_right = plant.is_found(&record) && differs && left.is_empty();
        seen = format!("{told}; {} settings differ, after undo {}", changed.len(), left.len());
        if is_right || !left.is_empty() {
            return Ok(Outcome::show(plant.name(), seen, is_right));
        }
        // Other processes of the machine may be what the verdict names.
        say(format!("{}: {seen}; the verdict is {:?}", plant.name(), record.verdict));
        let attempts = record.attempts.iter();
        attempts.for_each(|one| say(format!("    {}: {:?}", one.finding, one.outcome)));
    }
    Ok(Outcome::show(plant.name(), seen, false))
}

/// The changes that were kept, with the gain: `kept sysctl -w a=b, +120 % (+100 % to +140 %)`.
fn told(record: &TuneRecord) -> String {
    let kept = record.kept.iter().map(|one| one.change.command()).collect::<Vec<_>>();
    let goal = record.check.as_ref().and_then(|check| check.metrics.first()?.effect);
    let percent = |ratio: f64| format!("{:+.0} %", (ratio - 1.0) * 100.0);
    let interval = goal.and_then(|effect| effect.interval);
    let interval = interval.map(|it| format!(" ({} to {})", percent(it.low), percent(it.high)));
    let gain = goal.map_or_else(|| "no check".to_owned(), |effect| percent(effect.ratio));
    format!("kept {}, {gain}{}", kept.join("; "), interval.unwrap_or_default())
}

/// A clean host is left as it is.
fn left_alone(under_test: &UnderTest, plant: &Plant, times: u32) -> Result<Outcome> {
    let bed = Bed::new(under_test, plant)?;
    let before = bed.snapshot()?;
    let (mut alike, mut tried) = (0, 0);
    for _ in 0..times {
        let record = bed.tune(&plant.tune)?;
        tried += record.attempts.iter().filter(|one| one.comparison.is_some()).count();
        let changed = bed.snapshot()?.changed_since(&before);
        alike += u32::from(changed.is_empty() && record.kept.is_empty());
        if !record.kept.is_empty() {
            say(format!("{}: {}", plant.name(), told(&record)));
        }
    }
    let seen = format!("as before {alike} of {times}, {tried} findings tried");
    Ok(Outcome::show(plant.name(), seen, alike == times))
}

/// Killed at any instant a tuning leaves, 5 s later, what was there before.
fn killed(under_test: &UnderTest, plant: &Plant, times: u32) -> Result<Outcome> {
    let bed = Bed::new(under_test, plant)?;
    let before = bed.snapshot()?;
    // At which instants is of no use to repeat: the next tuning is elsewhere then.
    let mut random = Rng::with_seed(std::process::id().into());
    let (mut alike, mut changed) = (0, 0);
    for number in 0..times {
        transient(format!("killed {number} of {times}"));
        let tuning = Running::captured(bed.command("--yes -t 100ms --pairs 4"))?;
        thread::sleep(Duration::from_millis(random.u64(0..4_000)));
        // What it has changed by then can be looked at while it stands still.
        tuning.signal("STOP").ok();
        changed += u32::from(!bed.snapshot()?.changed_since(&before).is_empty());
        tuning.signal("KILL").ok();
        let since = Instant::now();
        let mut left = bed.snapshot()?.changed_since(&before);
        while !left.is_empty() && since.elapsed() < BACK {
            thread::sleep(Duration::from_millis(50));
            left = bed.snapshot()?.changed_since(&before);
        }
        alike += u32::from(left.is_empty());
        drop(tuning);
    }
    let seen = format!("as before {alike} of {times}, of which {changed} had changed settings");
    Ok(Outcome::show("killed", seen, alike == times))
}

/// Hosts with what was planted, a server, and a directory for the journal.
struct Bed<'a> {
    setting: Setting<'a>,
    state: std::path::PathBuf,
}

impl<'a> Bed<'a> {
    fn new(under_test: &'a UnderTest, plant: &Plant) -> Result<Self> {
        let steps: Vec<_> = plant.fault.base.iter().chain(&plant.fault.plant).collect();
        let setting = Setting::create(under_test, &plant.fault, &steps)?;
        let state = std::env::temp_dir().join(format!("linerate-tune-{}", std::process::id()));
        Ok(Self { setting, state })
    }

    fn command(&self, words: &str) -> Command {
        let mut command = self.setting.client("tune");
        command.args(words.split_whitespace()).arg("--no-store").arg("--state").arg(&self.state);
        command
    }

    fn tune(&self, words: &str) -> Result<TuneRecord> {
        let ended = Running::captured(self.command(&format!("--yes {words}")))?.finish(LONGEST)?;
        serde_json::from_str(&ended.stdout)
            .with_context(|| format!("no record of a tuning: {}", ended.complaint()))
    }

    fn snapshot(&self) -> Result<Snapshot> {
        Snapshot::take(&self.setting, &self.state)
    }

    /// Runs the commands that undo what was kept, the latest change first.
    fn take_back(&self, record: &TuneRecord) -> Result<()> {
        let commands = record.kept.iter().rev().flat_map(|one| &one.undo);
        commands.into_iter().try_for_each(|one| snapshot::shell(&self.setting, one, &[]).map(drop))
    }
}

impl Drop for Bed<'_> {
    fn drop(&mut self) {
        // A folder of temporary files is no place where a leftover does harm.
        _ = std::fs::remove_dir_all(&self.state);
    }
}

const PLANTS: &str = "xtask/src/proof/tune/plants";
/// The misconfiguration with which tunings are killed.
const KILLED: &str = "segmentation-off";
/// Tunings that may find nothing, of one fault.
const TIMES: u32 = 3;
const LONGEST: Duration = Duration::from_secs(600);
/// By when all is as before.
const BACK: Duration = Duration::from_secs(5);
