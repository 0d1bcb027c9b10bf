//! Shows on a terminal how far a test is: a line that moves, rows as they end, and lines for
//! `--verbose`.

use std::time::{Duration, Instant};

use campaign::{Event, Monitor, Purpose, Task};
use measurement::record::StreamRecord;
use measurement::units::group_thousands;
use measurement::{ByteSize, Course, End, Peer, TestPlan, TestRecord, Transport};
use report::rates::UnitFormat;
use report::screen::{self, Moved};
use session::{Glimpse, QueuePlace};

use crate::intervals::interval;
use crate::moving_line::MovingLine;
use crate::rows::Rows;
use crate::{charset, terminal};

/// How much is shown while a test runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// No progress output.
    Quiet,
    /// A line that moves, if standard error is a terminal.
    Bar,
    /// The same, and a line for each interval.
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
    /// Prints rows as they end; none: they are printed together at the end.
    rows: Option<Rows>,
    /// Results so far, and how many there will be, as far as known.
    ended: usize,
    of: Option<usize>,
    /// The test that runs.
    current: Option<TestBar>,
    /// That of rates.
    unit: UnitFormat,
}

impl Progress {
    pub(crate) const fn new(detail: Detail) -> Self {
        let unit = UnitFormat::Adaptive;
        Self { detail, rows: None, ended: 0, of: None, current: None, unit }
    }

    /// Of so many results.
    pub(crate) fn of(self, count: usize) -> Self {
        Self { of: Some(count), ..self }
    }

    /// Prints rows as they end, and rates in their unit.
    pub(crate) fn with_rows(self, rows: Rows) -> Self {
        Self { unit: rows.unit(), rows: Some(rows), ..self }
    }

    /// What prints the rows.
    pub(crate) fn into_rows(self) -> Option<Rows> {
        self.rows
    }

    /// Trials show no intervals.
    fn detail_of(&self, task: &Task) -> Detail {
        match (task.purpose, self.detail) {
            (Purpose::Trial { .. }, Detail::Intervals) => Detail::Bar,
            (_, detail) => detail,
        }
    }

    /// `[3/4]`.
    fn place(&self, task: &Task) -> String {
        match (task.purpose, self.of) {
            (Purpose::Result { .. }, Some(of)) => format!("[{}/{of}]", self.ended + 1),
            _ => String::new(),
        }
    }
}

impl Monitor for Progress {
    fn receive(&mut self, event: &Event<'_>) {
        match event {
            Event::Begins(task) => {
                let place = self.place(task);
                self.current = Some(TestBar::new(task, place, self.detail_of(task), self.unit));
            }
            Event::Ended(record) => {
                let Some(bar) = self.current.take() else { return };
                bar.show_load(record);
                let is_result = bar.is_result;
                drop(bar);
                if is_result {
                    self.ended += 1;
                    self.rows.iter_mut().for_each(|rows| rows.ended(record));
                }
            }
            Event::Failed(_) => self.current = None,
            event => {
                let Some(bar) = &mut self.current else { return };
                bar.show(event);
                if let Some(rows) = self.rows.as_mut().filter(|_| bar.is_result) {
                    bar.line.suspend(|| rows.show(event));
                }
            }
        }
    }

    fn glimpses_every(&self) -> Option<Duration> {
        let moves = self.current.as_ref().is_some_and(|one| !one.line.is_hidden());
        moves.then_some(GLIMPSES)
    }
}

/// The line of one test.
struct TestBar {
    line: MovingLine,
    title: String,
    place: String,
    detail: Detail,
    is_result: bool,
    /// Its picture.
    course: screen::Course,
    moved: Moved,
    /// When client and server knew each other.
    since: Instant,
    shown: usize,
    /// The wait for its turn was printed.
    waits: bool,
    unit: UnitFormat,
    /// Many streams, and the memory that they take; none: they are few.
    memory: Option<(u32, ByteSize)>,
}

impl TestBar {
    fn new(task: &Task, place: String, detail: Detail, unit: UnitFormat) -> Self {
        let line = MovingLine::new(detail == Detail::Quiet);
        let title = task.title();
        line.show(format!("  {title}: connecting"));
        let plan = &task.row.plan;
        let whole = match plan.end {
            End::Time(time) => Some(plan.omit + time),
            _ => None,
        };
        let moved = moved(plan);
        let course = screen::Course::new(short(task), whole, moved, unit);
        let is_result = task.purpose.is_result();
        let since = Instant::now();
        let (shown, waits) = (0, false);
        let memory =
            plan.has_many_streams().then(|| (plan.streams_in_all(), session::stream_memory(plan)));
        Self {
            line,
            title,
            place,
            detail,
            is_result,
            course,
            moved,
            since,
            shown,
            waits,
            unit,
            memory,
        }
    }

    fn show(&mut self, event: &Event<'_>) {
        match event {
            Event::Introduced(_) => {
                self.show_memory();
                self.since = Instant::now();
            }
            Event::Waiting { server, place } => self.show_wait(server, *place),
            Event::Opening { open, of } => self.show_opening(*open, *of),
            Event::Opened(streams) => self.show_streams(streams),
            Event::Started { .. } => self.draw(),
            Event::Glimpsed(glimpse) => self.show_glimpse(glimpse),
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
            self.line.suspend(|| eprintln(&format!("{}  {line}", self.title)));
        }
    }

    fn show_wait(&mut self, server: &Peer, place: QueuePlace) {
        let tests = if place.ahead == 1 { "1 test" } else { &format!("{} tests", place.ahead) };
        let message = format!("{}: waiting for {tests} before this one", self.title);
        // Where no line moves it is printed once.
        if self.line.is_hidden() && self.detail != Detail::Quiet && !self.waits {
            eprintln(&format!("{message} ({} runs tests in turn)", server.address));
        }
        self.waits = true;
        self.line.show(format!("  {message}"));
    }

    /// Memory that many streams take, before they are opened.
    fn show_memory(&self) {
        if let Some((streams, memory)) = self.memory {
            let streams = group_thousands(streams.into());
            self.say(&format!("{streams} streams take about {memory} of memory here"));
        }
    }

    fn show_opening(&self, open: u32, of: u32) {
        let (open, of) = (group_thousands(open.into()), group_thousands(of.into()));
        self.line.show(format!("  {}: {open} of {of} streams are open", self.title));
    }

    fn show_streams(&self, streams: &[StreamRecord]) {
        let (count, took) = (group_thousands(streams.len() as u64), self.since.elapsed());
        let of = if streams.len() == 1 { "stream" } else { "streams" };
        self.say(&format!("{count} {of} opened in {:.3} s", took.as_secs_f64()));
        for line in report::terminal::placement(streams) {
            self.say(&format!("here {line}"));
        }
    }

    fn show_glimpse(&mut self, glimpse: &Glimpse) {
        let bytes = match self.moved {
            Moved::Sending => glimpse.sent,
            Moved::Arriving => glimpse.acknowledged.unwrap_or(0).saturating_add(glimpse.received),
        };
        self.course.step(glimpse.since_start, bytes);
        self.draw();
    }

    fn draw(&self) {
        let (width, unicode) = (terminal::width_of_errors(), charset::has_unicode());
        self.line.show(self.course.line(width, &self.place, unicode));
    }

    fn show_course(&mut self, course: &Course<'_>) {
        let intervals = course.intervals;
        for direction in intervals {
            let Some(last) = direction.intervals.last() else { continue };
            if self.detail == Detail::Intervals && direction.intervals.len() > self.shown {
                let text = interval(course.plan, direction.sender, last, self.unit);
                let (from, to) = (last.from.as_secs_f64(), last.to.as_secs_f64());
                let omitted = if last.omitted { " (omitted)" } else { "" };
                let line = format!("{} {from:7.2}-{to:.2} s  {text}{omitted}", self.title);
                self.line.suspend(|| eprintln(&line));
            }
        }
        self.shown = intervals.iter().map(|direction| direction.intervals.len()).max().unwrap_or(0);
    }
}

/// `TCP send`, and of a trial what is tried.
fn short(task: &Task) -> String {
    let name = task.row.plan.row();
    let name = name.split(',').next().unwrap_or_default().to_owned();
    if task.purpose.is_result() { name } else { format!("{name} try") }
}

/// What this end knows of what moves: datagrams that it sends are not acknowledged.
fn moved(plan: &TestPlan) -> Moved {
    let is_blind = plan.transport == Transport::Udp && plan.direction.sends();
    if is_blind { Moved::Sending } else { Moved::Arriving }
}

fn eprintln(line: &str) {
    use std::io::Write;
    // Progress that cannot be shown is no reason to stop measuring.
    _ = writeln!(anstream::stderr(), "{line}");
}

/// From one look at what has moved to the next.
const GLIMPSES: Duration = Duration::from_millis(200);
