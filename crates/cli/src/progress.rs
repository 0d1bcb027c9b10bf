//! Shows on a terminal how far a test is: a bar, and lines for `--verbose`.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use campaign::{Event, Monitor, Purpose, Task};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use measurement::record::StreamRecord;
use measurement::units::group_thousands;
use measurement::{Course, End, Interval, Peer, TestPlan, TestRecord};
use session::Place;

/// How much is shown while a test runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// No progress output.
    Quiet,
    /// A progress bar, if standard error is a terminal.
    Bar,
    /// A progress bar and a line for each interval.
    Intervals,
}

impl Detail {
    /// What `--quiet` and `--verbose` ask for.
    pub(crate) const fn from_flags(quiet: bool, verbose: bool) -> Self {
        match (quiet, verbose) {
            (true, _) => Self::Quiet,
            (_, true) => Self::Intervals,
            _ => Self::Bar,
        }
    }
}

/// Shows the tests of a run, one after another.
pub(crate) struct Progress {
    detail: Detail,
    /// The test that runs.
    current: Option<TestBar>,
}

impl Progress {
    pub(crate) const fn new(detail: Detail) -> Self {
        Self { detail, current: None }
    }

    /// Trials show their bar only.
    fn detail_of(&self, task: &Task) -> Detail {
        match (task.purpose, self.detail) {
            (Purpose::Trial { .. }, Detail::Intervals) => Detail::Bar,
            (_, detail) => detail,
        }
    }
}

impl Monitor for Progress {
    fn receive(&mut self, event: &Event<'_>) {
        match event {
            Event::Begins(task) => {
                self.current = Some(TestBar::new(task.title(), self.detail_of(task)));
            }
            Event::Ended(record) => {
                if let Some(bar) = self.current.take() {
                    bar.show_load(record);
                }
            }
            Event::Failed(_) => self.current = None,
            event => {
                if let Some(bar) = &mut self.current {
                    bar.show(event);
                }
            }
        }
    }
}

/// The bar of one test.
struct TestBar {
    bar: ProgressBar,
    title: String,
    detail: Detail,
    /// When client and server knew each other.
    since: Instant,
    shown: usize,
    /// The wait for its turn was printed.
    waits: bool,
}

impl TestBar {
    fn new(title: String, detail: Detail) -> Self {
        let visible = detail != Detail::Quiet && std::io::stderr().is_terminal();
        let target =
            if visible { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        let plain = ProgressStyle::with_template("  {msg}");
        bar.set_style(plain.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        bar.set_message(format!("{title}: connecting"));
        Self { bar, title, detail, since: Instant::now(), shown: 0, waits: false }
    }

    fn show(&mut self, event: &Event<'_>) {
        match event {
            Event::Introduced => self.since = Instant::now(),
            Event::Waiting { server, place } => self.show_wait(server, *place),
            Event::Opening { open, of } => self.show_opening(*open, *of),
            Event::Opened(streams) => self.show_streams(streams),
            Event::Started { plan, .. } => self.start(plan),
            Event::Sampled(course) => self.show_course(course),
            Event::Begins(_) | Event::Ended(_) | Event::Failed(_) => {}
        }
    }

    /// How busy the workers of both ends were.
    fn show_load(&self, record: &TestRecord) {
        let ends = [("here", &record.runtime), ("the server's", &record.reported.runtime)];
        for (whose, runtime) in ends {
            let lines = runtime.as_ref().map(report::terminal::load).unwrap_or_default();
            for line in lines {
                self.say(&format!("{whose} {line}"));
            }
        }
    }

    /// Prints a line if intervals are shown.
    fn say(&self, line: &str) {
        if self.detail == Detail::Intervals {
            self.bar.suspend(|| eprintln(&format!("{}  {line}", self.title)));
        }
    }

    fn show_wait(&mut self, server: &Peer, place: Place) {
        let tests = if place.ahead == 1 { "1 test" } else { &format!("{} tests", place.ahead) };
        let message = format!("{}: waiting for {tests} before this one", self.title);
        // Where there is no bar it is printed once.
        if self.bar.is_hidden() && self.detail != Detail::Quiet && !self.waits {
            eprintln(&format!("{message} ({} runs tests in turn)", server.address));
        }
        self.waits = true;
        self.bar.set_message(message);
    }

    fn show_opening(&self, open: u32, of: u32) {
        let (open, of) = (group_thousands(open.into()), group_thousands(of.into()));
        self.bar.set_message(format!("{}: {open} of {of} streams are open", self.title));
    }

    fn show_streams(&self, streams: &[StreamRecord]) {
        let (count, took) = (group_thousands(streams.len() as u64), self.since.elapsed());
        let of = if streams.len() == 1 { "stream" } else { "streams" };
        self.say(&format!("{count} {of} opened in {:.3} s", took.as_secs_f64()));
        for line in report::terminal::placement(streams) {
            self.say(&format!("here {line}"));
        }
    }

    fn start(&self, plan: &TestPlan) {
        let End::Time(time) = plan.end else {
            self.bar.set_message(self.title.clone());
            return self.bar.enable_steady_tick(TICK);
        };
        let steps = u64::try_from((plan.omit + time).as_millis() / TICK.as_millis()).unwrap_or(1);
        self.bar.set_length(steps);
        let style = ProgressStyle::with_template("  {bar:30.cyan/dim} {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        self.bar.set_style(style);
        self.bar.set_message(self.title.clone());
    }

    fn show_course(&mut self, course: &Course<'_>) {
        let intervals = course.intervals;
        let mut rates = Vec::new();
        for direction in intervals {
            let Some(last) = direction.intervals.last() else { continue };
            let text = moved(course.plan, direction.sender, last);
            rates.push(text.clone());
            self.bar.set_position(
                u64::try_from(last.to.as_millis() / TICK.as_millis()).unwrap_or(u64::MAX),
            );
            if self.detail == Detail::Intervals && direction.intervals.len() > self.shown {
                let (from, to) = (last.from.as_secs_f64(), last.to.as_secs_f64());
                let omitted = if last.omitted { " (omitted)" } else { "" };
                let line = format!("{} {from:7.2}-{to:.2} s  {text}{omitted}", self.title);
                self.bar.suspend(|| eprintln(&line));
            }
        }
        self.shown = intervals.iter().map(|direction| direction.intervals.len()).max().unwrap_or(0);
        self.bar.set_message(format!("{}: {}", self.title, rates.join(", ")));
    }
}

impl Drop for TestBar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// The rate of an interval, in words.
fn moved(plan: &TestPlan, sender: bool, interval: &Interval) -> String {
    if plan.exchange.is_some() {
        let span = (interval.to.saturating_sub(interval.from)).as_secs_f64().max(1e-9);
        return format!("{:.0} responses/s", interval.blocks as f64 / span);
    }
    let way = if sender { "sent" } else { "received" };
    format!("{way} {}", interval.rate)
}

fn eprintln(line: &str) {
    use std::io::Write;
    // Progress that cannot be shown is no reason to stop measuring.
    _ = writeln!(anstream::stderr(), "{line}");
}

const TICK: Duration = Duration::from_millis(100);
