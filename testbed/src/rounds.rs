//! Rounds: in each of them every program runs once, in turn (A B A B), so that whatever else the
//! machine does hits all alike and ratios can be taken within a round.

use std::fmt::Display;

use anyhow::Result;

use crate::candidate::{Candidate, Part};
use crate::figures::{Figures, Metric};
use crate::output::say;
use crate::progress::Progress;
use crate::spread::{Spread, median};

/// A benchmark that runs several programs in turn: which programs, how often, and how.
pub trait Benchmark {
    /// What is asked of every program in a row, shown as the name of the row.
    type Job: Display + Clone;

    /// How often each program runs a job.
    fn rounds(&self, job: &Self::Job) -> u32;

    /// The programs that take a job, in the order in which they take turns.
    fn candidates(&self, job: &Self::Job) -> Vec<Candidate>;

    /// What a program does before the first round of a job, which does not count.
    ///
    /// # Errors
    /// The benchmark cannot go on. What the program itself fails with stands in its entry.
    fn prepare(
        &self,
        _candidate: &mut Candidate,
        _job: &Self::Job,
        _entry: &mut Entry,
        _progress: &Progress,
    ) -> Result<()> {
        Ok(())
    }

    /// Runs a program once: its figures, or why it did not run.
    ///
    /// # Errors
    /// The benchmark cannot go on.
    fn run(&self, candidate: &Candidate, job: &Self::Job) -> Result<Result<Figures>>;

    /// Counts the runs; a Ctrl-C ends the rounds after the run that goes on.
    ///
    /// # Errors
    /// Ctrl-C cannot be taken.
    fn progress(&self, runs: usize) -> Result<Progress> {
        Progress::start(runs)
    }

    /// Shows a row when it is complete.
    fn show(&self, _row: &JobRow<Self::Job>) {}
}

/// The results of one job: an entry for each program.
#[derive(Clone, Debug)]
pub struct JobRow<J> {
    /// What was asked.
    pub job: J,
    /// One for each program.
    pub entries: Vec<Entry>,
}

/// The results of one program in one row: its figures of each round, or why it did not run.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name.
    pub program: String,
    /// What it is there for.
    pub part: Part,
    /// The engines that a search found for it, if there was one.
    pub engines: Option<String>,
    /// The figures of each round; or why it did not run.
    pub outcome: Result<Vec<Figures>, String>,
}

/// Runs all jobs, one after another; fewer if the user interrupts. In each round of a job every
/// program runs once, in turn.
///
/// To be called before the first thread starts, as [`Progress::start`] asks.
///
/// # Errors
/// The benchmark cannot go on. A program that fails is no error: its entry says why.
pub fn run<B: Benchmark>(benchmark: &B, jobs: &[B::Job]) -> Result<Vec<JobRow<B::Job>>> {
    let runs = |job| benchmark.candidates(job).len() * benchmark.rounds(job) as usize;
    let progress = benchmark.progress(jobs.iter().map(runs).sum())?;
    let mut rows = Vec::new();
    for job in jobs {
        let row = row(benchmark, job, &progress)?;
        benchmark.show(&row);
        rows.push(row);
        if progress.is_stopped() {
            say("interrupted; this is what was measured until then");
            break;
        }
    }
    Ok(rows)
}

/// A program that fails is left out from then on.
fn row<B: Benchmark>(benchmark: &B, job: &B::Job, progress: &Progress) -> Result<JobRow<B::Job>> {
    let mut candidates = benchmark.candidates(job);
    let entry = |one: &Candidate| Entry::new(&one.name, one.part);
    let mut entries: Vec<Entry> = candidates.iter().map(entry).collect();
    for (candidate, entry) in candidates.iter_mut().zip(&mut entries) {
        benchmark.prepare(candidate, job, entry, progress)?;
    }
    for _ in 0..benchmark.rounds(job) {
        for (candidate, entry) in candidates.iter().zip(&mut entries) {
            let Ok(figures) = &mut entry.outcome else { continue };
            progress.begin(format!("{job}: {}", entry.program));
            let outcome = benchmark.run(candidate, job)?;
            progress.end();
            if progress.is_stopped() {
                // Its figures, if it has any, are of a part.
                return Ok(JobRow { job: job.clone(), entries });
            }
            match outcome {
                Ok(new) => figures.push(new),
                Err(error) => entry.outcome = Err(format!("{error:#}")),
            }
        }
    }
    Ok(JobRow { job: job.clone(), entries })
}

impl<J: Display> JobRow<J> {
    /// Prints the value of `metric` in each round for every program, times `scale`, in `unit`.
    pub fn show(&self, metric: Metric, scale: f64, unit: &str) {
        for entry in &self.entries {
            let values = entry.values(metric).into_iter().map(|one| format!("{:.2}", one * scale));
            let what = match &entry.outcome {
                Ok(_) => format!("{} {unit}", values.collect::<Vec<_>>().join(" ")),
                Err(reason) => format!("not run: {reason}"),
            };
            say(format!("{}: {}: {what}", self.job, entry.program));
        }
    }
}

impl<J> JobRow<J> {
    /// The entry of the first program with the role `part`. `None`: there is none.
    pub fn entry(&self, part: Part) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.part == part)
    }

    /// The entries of all programs except those with the role [`Part::Ours`].
    pub fn others(&self) -> Vec<&Entry> {
        self.entries.iter().filter(|entry| entry.part != Part::Ours).collect()
    }

    /// The entry with the highest median rate among the programs with one of these roles. `None`:
    /// none of them has a rate.
    pub fn fastest(&self, parts: &[Part]) -> Option<&Entry> {
        let entries = self.entries.iter().filter(|entry| parts.contains(&entry.part));
        let rated = entries.filter_map(|entry| Some((entry, entry.median(Metric::Rate)?)));
        rated.max_by(|(_, one), (_, other)| one.total_cmp(other)).map(|(entry, _)| entry)
    }

    /// The median of the ratios of `metric` between the programs with the roles `one` and `other`,
    /// taken round by round. `None`: one of them has no values.
    pub fn ratio(&self, one: Part, other: Part, metric: Metric) -> Option<f64> {
        Some(self.entry(one)?.over(self.entry(other)?, metric)?.median)
    }
}

impl Entry {
    /// An entry of a program that has not run yet.
    pub fn new(program: impl Into<String>, part: Part) -> Self {
        Self { program: program.into(), part, engines: None, outcome: Ok(Vec::new()) }
    }

    /// The value of `metric` in each round. Empty if a round does not have it, or the program did
    /// not run.
    pub fn values(&self, metric: Metric) -> Vec<f64> {
        let rounds = self.outcome.as_deref().unwrap_or_default();
        let values: Option<Vec<f64>> = rounds.iter().map(|figures| figures.get(metric)).collect();
        values.unwrap_or_default()
    }

    /// Median, minimum and maximum of `metric` over the rounds. `None`: there are no values.
    pub fn spread(&self, metric: Metric) -> Option<Spread> {
        Spread::from_values(self.values(metric))
    }

    /// Median of `metric` over the rounds. `None`: there are no values.
    pub fn median(&self, metric: Metric) -> Option<f64> {
        median(self.values(metric))
    }

    /// The largest absolute value of `metric` over the rounds. `None`: there are no values.
    pub fn most(&self, metric: Metric) -> Option<f64> {
        Some(Spread::from_values(self.values(metric).into_iter().map(f64::abs))?.most)
    }

    /// Median, minimum and maximum of the ratios of `metric` of this program to that of `other`,
    /// round by round. `None`: there are no ratios.
    pub fn over(&self, other: &Self, metric: Metric) -> Option<Spread> {
        Spread::from_ratios(&self.values(metric), &other.values(metric))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::path::PathBuf;

    use anyhow::bail;

    use super::*;
    use crate::program::{Installed, PLAIN};

    /// Programs whose rate is the number of the run; the one called `broken` fails.
    struct Counting(RefCell<Vec<String>>);

    impl Benchmark for Counting {
        type Job = &'static str;

        fn rounds(&self, _job: &Self::Job) -> u32 {
            2
        }

        fn candidates(&self, _job: &Self::Job) -> Vec<Candidate> {
            let named = |name| {
                let part = if name == "one" { Part::Ours } else { Part::Peer };
                let program = Installed::known(&PLAIN, PathBuf::new());
                Candidate::new(program, part).with_name(name, "")
            };
            ["one", "broken", "other"].map(named).to_vec()
        }

        fn run(&self, candidate: &Candidate, job: &Self::Job) -> Result<Result<Figures>> {
            let mut log = self.0.borrow_mut();
            log.push(format!("{} {job}", candidate.name));
            if candidate.name == "broken" {
                return Ok(Err(anyhow::anyhow!("why").context("no")));
            }
            if *job == "impossible" {
                bail!("no hosts");
            }
            Ok(Ok(Figures::from_iter([(Metric::Rate, log.len() as f64)])))
        }
    }

    #[test]
    fn programs_take_turns_and_one_that_fails_is_left_out() {
        let counting = Counting(RefCell::default());
        let rows = run(&counting, &["tcp"]).expect("it runs");
        let log = ["one tcp", "broken tcp", "other tcp", "one tcp", "other tcp"];
        assert_eq!(*counting.0.borrow(), log);
        let [row] = rows.as_slice() else { panic!("{rows:?}") };
        let ours = row.entry(Part::Ours).expect("it ran");
        assert_eq!(
            (ours.values(Metric::Rate), ours.median(Metric::Rate)),
            (vec![1.0, 4.0], Some(2.5))
        );
        assert_eq!(row.entries[1].outcome, Err("no: why".to_owned()));
        assert_eq!(row.fastest(&[Part::Peer]).expect("one ran").program, "other");
        let ratios = ours.over(&row.entries[2], Metric::Rate).expect("both ran");
        assert_eq!((ratios.least, ratios.most), (1.0 / 3.0, 0.8));
        assert!(run(&counting, &["impossible"]).is_err());
    }
}
