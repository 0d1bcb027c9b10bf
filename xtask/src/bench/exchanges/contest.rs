//! Who runs when.

use anyhow::Result;

use super::contender::{Contender, Exchange, Task};
use super::figures::{Figures, Metric};
use super::{markdown, run};
use crate::bench::progress::{Ended, Progress};
use crate::bench::spread::Spread;
use crate::bench::streams::{Route, Scene};
use crate::output::say;

/// How often, how long and how much.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contest {
    /// Runs of each program in each row.
    pub(super) rounds: u32,
    /// Seconds of each run.
    pub(super) seconds: u32,
    /// Bytes of a request and of a response.
    pub(super) size: u32,
}

/// What came of an exchange on a route.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// What was exchanged.
    pub(super) exchange: Exchange,
    /// From client to server.
    pub(super) route: Route,
    /// One entry per program.
    pub(super) entries: Vec<Entry>,
}

/// One program's part in a row.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Its name.
    pub(super) program: String,
    /// Whether it is ours.
    pub(super) is_ours: bool,
    /// One per round; or why it did not run.
    pub(super) outcome: Result<Vec<Figures>, String>,
}

impl Contest {
    /// Each job in turn, shown when it is complete. Less if it is interrupted.
    pub(super) fn rows(
        &self,
        jobs: &[(Exchange, Route)],
        contenders: &[Contender],
    ) -> Result<Vec<Row>> {
        let takers = |(exchange, _): &(Exchange, Route)| -> Vec<&Contender> {
            contenders.iter().filter(|one| one.takes(*exchange)).collect()
        };
        let runs: usize = jobs.iter().map(|job| takers(job).len()).sum();
        let progress = Progress::of(runs * self.rounds as usize)?;
        let mut rows = Vec::new();
        for job in jobs {
            let row = self.row(*job, &takers(job), &progress)?;
            say(markdown::shown(&row));
            rows.push(row);
            if progress.is_stopped() {
                say("interrupted; this is what was measured until then");
                break;
            }
        }
        Ok(rows)
    }

    /// A B A B: in every round each program once. One that fails is left out from then on.
    fn row(
        &self,
        (exchange, route): (Exchange, Route),
        contenders: &[&Contender],
        progress: &Progress,
    ) -> Result<Row> {
        let mut entries: Vec<Entry> = contenders.iter().map(|one| Entry::new(one)).collect();
        for _ in 0..self.rounds {
            for (contender, entry) in contenders.iter().zip(&mut entries) {
                let Ok(figures) = &mut entry.outcome else { continue };
                progress.begin(format!("{exchange} over {route}: {}", contender.name));
                let scene = Scene::create(route)?;
                let (address, seconds, size) = (scene.address(), self.seconds, self.size);
                let outcome =
                    run::play(contender, &scene, &Task { exchange, address, seconds, size });
                if progress.end() == Ended::Interrupted {
                    return Ok(Row { exchange, route, entries });
                }
                match outcome {
                    Ok(new) => figures.push(new),
                    Err(error) => entry.outcome = Err(format!("{error:#}")),
                }
            }
        }
        Ok(Row { exchange, route, entries })
    }
}

impl Row {
    /// Whether anybody ran.
    pub(super) fn has_figures(&self) -> bool {
        self.entries.iter().any(|entry| !entry.of(Metric::Rate).is_empty())
    }

    /// The peer that made most, and the ratio of ours to it.
    pub(super) fn comparison(&self) -> Option<(&Entry, Spread)> {
        let ours = self.entries.iter().find(|entry| entry.is_ours)?;
        let theirs = self.entries.iter().filter(|entry| !entry.is_ours);
        let rated = theirs.filter_map(|entry| Some((entry, entry.median(Metric::Rate)?)));
        let (best, _) = rated.max_by(|(_, one), (_, other)| one.total_cmp(other))?;
        Some((best, Spread::of_ratios(&ours.of(Metric::Rate), &best.of(Metric::Rate))?))
    }
}

impl Entry {
    fn new(contender: &Contender) -> Self {
        let (program, is_ours) = (contender.name.clone(), contender.is_ours());
        Self { program, is_ours, outcome: Ok(Vec::new()) }
    }

    /// One number per round; none if a round has none.
    pub(super) fn of(&self, metric: Metric) -> Vec<f64> {
        let rounds = self.outcome.as_deref().unwrap_or_default();
        let values: Option<Vec<f64>> = rounds.iter().map(|figures| figures.of(metric)).collect();
        values.unwrap_or_default()
    }

    /// The middle of them.
    pub(super) fn median(&self, metric: Metric) -> Option<f64> {
        Spread::of(self.of(metric)).map(|spread| spread.median)
    }
}
