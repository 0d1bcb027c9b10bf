//! Who runs when.

use anyhow::Result;

use super::contender::{Contender, Part, Task};
use super::figures::{Figures, Metric};
use super::run;
use super::scene::{Route, Scene};
use super::workload::Workload;
use crate::bench::congestion;
use crate::bench::progress::{Ended, Progress};
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
}

/// What came of a workload on a route.
#[derive(Clone, Debug)]
pub(in crate::bench) struct Row {
    /// What was sent.
    pub(in crate::bench) workload: Workload,
    /// From client to server.
    pub(in crate::bench) route: Route,
    /// One entry per program, ours first.
    pub(in crate::bench) entries: Vec<Entry>,
}

/// One program's part in a row.
#[derive(Clone, Debug)]
pub(in crate::bench) struct Entry {
    /// Its name.
    pub(in crate::bench) program: String,
    /// What it is there for.
    pub(in crate::bench) part: Part,
    /// The engines that a search found for it, if there was one.
    pub(in crate::bench) engines: Option<String>,
    /// One per round; or why it did not run.
    pub(in crate::bench) outcome: Result<Vec<Figures>, String>,
}

/// The congestion control that every program takes.
pub(in crate::bench) fn congestion(contenders: &[Contender]) -> Result<String> {
    congestion::first_taken(|candidate| {
        // What else it is asked for changes nothing in that.
        let concerned = |one: &&Contender| one.is_plain() && one.takes(Workload::tcp(1));
        contenders.iter().filter(concerned).try_for_each(|contender| {
            let scene = Scene::create(Route::Lo)?;
            let task = Task {
                address: scene.address(),
                workload: Workload::tcp(1),
                seconds: 1,
                congestion: candidate,
            };
            run::play(contender, &scene, &task).map(|_| ())
        })
    })
}

/// A workload and the way that it takes.
pub(in crate::bench) type Job = (Workload, Route);

/// Every workload on every route.
pub(in crate::bench) fn each_way(
    workloads: impl Iterator<Item = Workload>,
    routes: &[Route],
) -> Vec<Job> {
    workloads.flat_map(|workload| routes.iter().map(move |route| (workload, *route))).collect()
}

impl Contest {
    /// Each job in turn; `show` gets each row when it is complete. Less if it is interrupted.
    pub(in crate::bench) fn rows(
        &self,
        jobs: &[Job],
        contenders: &[Contender],
        show: impl Fn(&Row),
    ) -> Result<Vec<Row>> {
        let takers = |(workload, _): &Job| -> Vec<&Contender> {
            contenders.iter().filter(|one| one.takes(*workload)).collect()
        };
        let runs = jobs.iter().map(|job| takers(job).len()).sum::<usize>();
        let progress = Progress::of(runs * self.rounds as usize)?;
        let mut rows = Vec::new();
        for job in jobs {
            let row = self.row(*job, &takers(job), &progress)?;
            show(&row);
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
        (workload, route): Job,
        contenders: &[&Contender],
        progress: &Progress,
    ) -> Result<Row> {
        let mut entries: Vec<Entry> = contenders.iter().map(|one| Entry::new(one)).collect();
        let mut settled: Vec<Contender> = contenders.iter().map(|one| (*one).clone()).collect();
        for (contender, entry) in settled.iter_mut().zip(&mut entries) {
            if contender.is_searching() {
                progress.tell(format!("{workload} over {route}: {} searches", contender.name));
                self.settle(contender, entry, (workload, route))?;
            }
        }
        for _ in 0..self.rounds {
            for (contender, entry) in settled.iter().zip(&mut entries) {
                let Ok(figures) = &mut entry.outcome else { continue };
                progress.begin(format!("{workload} over {route}: {}", contender.name));
                let outcome = self.once(contender, workload, route)?;
                if progress.end() == Ended::Interrupted {
                    return Ok(Row { workload, route, entries });
                }
                match outcome {
                    Ok(new) => figures.push(new),
                    Err(error) => entry.outcome = Err(format!("{error:#}")),
                }
            }
        }
        Ok(Row { workload, route, entries })
    }

    /// Lets it search for its engines, once for all rounds.
    fn settle(&self, contender: &mut Contender, entry: &mut Entry, job: Job) -> Result<()> {
        let (workload, route) = job;
        let scene = Scene::create(route)?;
        let congestion = self.congestion.as_str();
        let task = Task { address: scene.address(), workload, seconds: 1, congestion };
        match run::search(contender, &scene, &task) {
            Ok(engines) => {
                *contender = contender.settled(&engines);
                entry.engines = Some(engines);
            }
            Err(error) => entry.outcome = Err(format!("{error:#}")),
        }
        Ok(())
    }

    /// The outer error is ours, the inner one the program's.
    fn once(
        &self,
        contender: &Contender,
        workload: Workload,
        route: Route,
    ) -> Result<Result<Figures>> {
        let scene = Scene::create(route)?;
        let (seconds, congestion) = (self.seconds, self.congestion.as_str());
        let task = Task { address: scene.address(), workload, seconds, congestion };
        Ok(run::play(contender, &scene, &task))
    }
}

impl Row {
    /// The entry of the first program that is there for this.
    pub(in crate::bench) fn entry(&self, part: Part) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.part == part)
    }

    /// Every single value, for whoever doubts a median.
    pub(in crate::bench) fn show(&self) {
        for entry in &self.entries {
            let what = match &entry.outcome {
                Ok(_) => {
                    let rates = entry.of(Metric::Rate);
                    let rates: Vec<_> = rates.iter().map(|rate| format!("{rate:.2}")).collect();
                    format!("{} Gbit/s", rates.join(" "))
                }
                Err(reason) => format!("not run: {reason}"),
            };
            say(format!("{} over {}: {}: {what}", self.workload, self.route, entry.program));
        }
    }
}

impl Entry {
    fn new(contender: &Contender) -> Self {
        Self {
            program: contender.name.clone(),
            part: contender.part,
            engines: None,
            outcome: Ok(Vec::new()),
        }
    }

    /// One number per round; none if a round has none.
    pub(in crate::bench) fn of(&self, metric: Metric) -> Vec<f64> {
        let rounds = self.outcome.as_deref().unwrap_or_default();
        let values: Option<Vec<f64>> = rounds.iter().map(|figures| figures.of(metric)).collect();
        values.unwrap_or_default()
    }
}
