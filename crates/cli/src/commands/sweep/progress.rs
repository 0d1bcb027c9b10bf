//! Shows how far a sweep is: the line of the test that runs, and a line for each point that ended.

use std::io::Write;
use std::time::{Duration, Instant};

use campaign::{Event, Monitor};
use measurement::TestRecord;
use measurement::outcome::Ending;
use measurement::units::show_time;

/// Tells of points, of which there are so many, how they ended and how much time is left.
pub(super) struct SweepProgress {
    /// What shows the test that runs.
    tests: Box<dyn Monitor>,
    is_quiet: bool,
    /// Titles of the points, in the order in which they run.
    titles: Vec<String>,
    ended: usize,
    begun: Instant,
    /// What each takes, until one has ended.
    each: Duration,
    is_result: bool,
    /// Why points failed.
    pub(super) failed: Vec<String>,
}

impl SweepProgress {
    /// For points with these titles, which are planned to take so long together. `tests` shows the
    /// test that runs; quiet: no line tells of a point.
    pub(super) fn new(
        tests: Box<dyn Monitor>,
        is_quiet: bool,
        titles: Vec<String>,
        planned: Duration,
    ) -> Self {
        let count = u32::try_from(titles.len()).unwrap_or(u32::MAX).max(1);
        Self {
            tests,
            is_quiet,
            titles,
            ended: 0,
            begun: Instant::now(),
            each: planned / count,
            is_result: false,
            failed: Vec::new(),
        }
    }

    /// `[3/11] rate 10.00 Mbit/s: 9.998 Mbit/s, 863 /s, 0 % lost; 16 s left`.
    fn tell(&mut self, result: &str) {
        let title = self.titles.get(self.ended).cloned().unwrap_or_default();
        self.ended += 1;
        let (count, all) = (self.ended, self.titles.len());
        let ended = u32::try_from(count).unwrap_or(u32::MAX);
        let left = u32::try_from(all - count.min(all)).unwrap_or(u32::MAX);
        let time = (self.begun.elapsed() / ended).max(self.each) * left;
        let time = Duration::from_secs((time + HALF_A_SECOND).as_secs());
        let left = if left == 0 { String::new() } else { format!("; {} left", show_time(time)) };
        if !self.is_quiet {
            // Progress that cannot be shown is no reason to stop measuring.
            _ = writeln!(anstream::stderr(), "[{count}/{all}] {title}: {result}{left}");
        }
    }
}

impl Monitor for SweepProgress {
    fn receive(&mut self, event: &Event<'_>) {
        if let Event::Begins(task) = event {
            self.is_result = task.purpose.is_result();
        }
        self.tests.receive(event);
        match event {
            Event::Ended(record) if self.is_result => self.tell(&summary(record)),
            Event::Failed(error) if self.is_result => {
                let title = self.titles.get(self.ended).cloned().unwrap_or_default();
                self.failed.push(format!("{title}: {error}"));
                self.tell(&error.to_string());
            }
            _ => {}
        }
    }

    fn glimpses_every(&self) -> Option<Duration> {
        self.tests.glimpses_every()
    }
}

/// What a point came to.
fn summary(record: &TestRecord) -> String {
    match &record.outcome.ending {
        Ending::Completed => report::sweep::summary(record),
        Ending::Interrupted => "interrupted".to_owned(),
        Ending::Failed { error } => error.clone(),
    }
}

const HALF_A_SECOND: Duration = Duration::from_millis(500);
