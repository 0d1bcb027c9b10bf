//! Who runs when.

use anyhow::Result;

use super::contender::{Contender, Part, Task};
use super::figures::{Figures, Metric};
use super::run;
use super::scene::{Route, Scene};
use crate::bench::congestion;
use crate::output::say;

/// How often and how long.
#[derive(Clone, Debug)]
pub(in crate::bench) struct Contest {
    /// Runs of each program in each row.
    pub(in crate::bench) rounds: u32,
    /// Seconds of each run.
    pub(in crate::bench) seconds: u32,
    /// Congestion control of all.
    pub(in crate::bench) congestion: String,
    /// Bytes of the datagrams that are sent; none: it is TCP.
    pub(in crate::bench) length: Option<u32>,
}

/// What came of a number of streams on a route.
#[derive(Clone, Debug)]
pub(in crate::bench) struct Row {
    /// Parallel streams.
    pub(in crate::bench) streams: u32,
    /// From client to server.
    pub(in crate::bench) route: Route,
    /// One entry per program, ours first.
    pub(in crate::bench) entries: Vec<Entry>,
}

/// One program's part in a row.
#[derive(Clone, Debug)]
pub(in crate::bench) struct Entry {
    /// Its name.
    pub(super) program: String,
    /// What it is there for.
    pub(in crate::bench) part: Part,
    /// One per round; or why it did not run.
    pub(super) outcome: Result<Vec<Figures>, String>,
}

/// The congestion control that every program takes.
pub(in crate::bench) fn congestion(contenders: &[Contender]) -> Result<String> {
    congestion::first_taken(|candidate| {
        contenders.iter().try_for_each(|contender| {
            let scene = Scene::create(Route::Lo)?;
            let task = Task {
                address: scene.address(),
                streams: 1,
                seconds: 1,
                congestion: candidate,
                length: None,
            };
            run::play(contender, &scene, &task).map(|_| ())
        })
    })
}

impl Contest {
    /// A B A B: in every round each program once. One that fails is left out from then on.
    pub(in crate::bench) fn row(
        &self,
        streams: u32,
        route: Route,
        all: &[Contender],
    ) -> Result<Row> {
        let contenders: Vec<_> = all.iter().filter(|one| one.takes(streams, self.length)).collect();
        let mut entries: Vec<Entry> = contenders.iter().map(|one| Entry::new(one)).collect();
        for _ in 0..self.rounds {
            for (contender, entry) in contenders.iter().zip(&mut entries) {
                self.once(contender, streams, route, entry)?;
            }
        }
        let row = Row { streams, route, entries };
        row.show();
        Ok(row)
    }

    fn once(
        &self,
        contender: &Contender,
        streams: u32,
        route: Route,
        entry: &mut Entry,
    ) -> Result<()> {
        let Ok(figures) = &mut entry.outcome else { return Ok(()) };
        let scene = Scene::create(route)?;
        let (seconds, congestion) = (self.seconds, self.congestion.as_str());
        let length = self.length;
        let task = Task { address: scene.address(), streams, seconds, congestion, length };
        match run::play(contender, &scene, &task) {
            Ok(new) => figures.push(new),
            Err(error) => entry.outcome = Err(format!("{error:#}")),
        }
        Ok(())
    }
}

impl Row {
    /// The entry of the first program that is there for this.
    pub(in crate::bench) fn entry(&self, part: Part) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.part == part)
    }

    /// Every single value, for whoever doubts a median.
    fn show(&self) {
        for entry in &self.entries {
            let what = match &entry.outcome {
                Ok(_) => {
                    let rates = entry.of(Metric::Rate);
                    let rates: Vec<_> = rates.iter().map(|rate| format!("{rate:.2}")).collect();
                    format!("{} Gbit/s", rates.join(" "))
                }
                Err(reason) => format!("not run: {reason}"),
            };
            say(format!("{} over {}: {}: {what}", self.streams, self.route, entry.program));
        }
    }
}

impl Entry {
    fn new(contender: &Contender) -> Self {
        Self { program: contender.name.clone(), part: contender.part, outcome: Ok(Vec::new()) }
    }

    /// One number per round; none if a round has none.
    pub(in crate::bench) fn of(&self, metric: Metric) -> Vec<f64> {
        let rounds = self.outcome.as_deref().unwrap_or_default();
        let values: Option<Vec<f64>> = rounds.iter().map(|figures| figures.of(metric)).collect();
        values.unwrap_or_default()
    }
}
