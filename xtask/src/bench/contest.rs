//! Who runs when.

use std::thread;
use std::time::Duration;

use anyhow::Result;

use super::dialect::Task;
use super::measure;
use super::program::Program;
use super::row::{ROWS, Row};
use super::series::{Metric, Runs, Series};
use crate::output::say;

/// How often and how long.
#[derive(Clone, Debug)]
pub(super) struct Contest {
    /// Runs of each program in each row.
    pub(super) rounds: u32,
    /// Seconds of each run.
    pub(super) seconds: u32,
    /// Congestion control of all.
    pub(super) congestion: String,
}

/// The row of the wall time.
pub(super) const START_UP: &str = "1 MiB over TCP, start to end";

impl Contest {
    /// All rows, one after another.
    pub(super) fn play(&self, programs: &[Program]) -> Result<Vec<Series>> {
        if !programs.iter().all(|program| program.server().reset_peak()) {
            say("note: this kernel resets no peaks; a server's memory is its peak since the start");
        }
        let mut series = Vec::new();
        for row in ROWS {
            series.push(self.row(row, programs)?);
        }
        series.push(self.start_up(programs)?);
        Ok(series)
    }

    fn row(&self, row: Row, programs: &[Program]) -> Result<Series> {
        let task = Task::Row { row, seconds: self.seconds, congestion: &self.congestion };
        let series = in_turn(row.name, self.rounds, programs, |program, runs| {
            runs.add(&measure::run(program, task)?);
            Ok(())
        })?;
        show(&series, Metric::Rate, "Gbit/s");
        Ok(series)
    }

    fn start_up(&self, programs: &[Program]) -> Result<Series> {
        let rounds = self.rounds.max(LEAST_STARTS);
        let series = in_turn(START_UP, rounds, programs, |program, runs| {
            runs.add_wall(measure::wall_time(program, Task::Mebibyte)?);
            thread::sleep(BETWEEN_STARTS);
            Ok(())
        })?;
        show(&series, Metric::Wall, "ms");
        Ok(series)
    }
}

/// A B A B: in every round each program once.
fn in_turn(
    row: &'static str,
    rounds: u32,
    programs: &[Program],
    mut run: impl FnMut(&Program, &mut Runs) -> Result<()>,
) -> Result<Series> {
    let mut runs: Vec<Runs> = programs.iter().map(|program| Runs::new(&program.name)).collect();
    for _ in 0..rounds {
        for (program, runs) in programs.iter().zip(&mut runs) {
            run(program, runs)?;
        }
    }
    Ok(Series { row, runs })
}

/// Every single value, for whoever doubts a median.
fn show(series: &Series, metric: Metric, unit: &str) {
    for runs in &series.runs {
        let values: Vec<_> = runs.of(metric).iter().map(|value| format!("{value:.2}")).collect();
        say(format!("{}: {}: {} {unit}", series.row, runs.program, values.join(" ")));
    }
}

/// A start is short, so that even a quick comparison has enough of them.
const LEAST_STARTS: u32 = 11;
/// A server is at rest when the next client starts.
const BETWEEN_STARTS: Duration = Duration::from_millis(50);
