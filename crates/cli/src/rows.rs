//! Prints the rows of a run as they end.

use std::io::Write;

use campaign::Event;
use measurement::record::StreamRecord;
use measurement::{Course, End, Peer, RecordSet, TestPlan, TestRecord};
use report::export::Details;
use report::rates::UnitFormat;
use report::screen::{Head, Rest, Screen};

use crate::intervals::interval;
use crate::output;

/// What prints the rows.
pub(crate) struct Rows {
    screen: Screen,
    /// How many there will be.
    count: usize,
    kernel: String,
    peer: Option<Peer>,
    streams: Vec<StreamRecord>,
    is_open: bool,
    has_intervals: bool,
    /// Those of the row that runs that were printed.
    intervals: usize,
    /// Titles of rows so far, for those that are run several times.
    titles: Vec<String>,
    /// Runs of each row.
    runs: u32,
}

impl Rows {
    /// For so many rows, each of which is run so many times; `has_intervals`: each interval has a
    /// line of its own.
    pub(crate) fn new(screen: Screen, count: usize, runs: u32, has_intervals: bool) -> Self {
        let kernel = linux::host::system_names().kernel;
        let (peer, streams, titles) = (None, Vec::new(), Vec::new());
        let (is_open, intervals) = (false, 0);
        Self {
            screen,
            count,
            kernel,
            peer,
            streams,
            is_open,
            has_intervals,
            intervals,
            titles,
            runs,
        }
    }

    /// That of rates.
    pub(crate) const fn unit(&self) -> UnitFormat {
        self.screen.unit()
    }

    /// Prints what stands above the rows as soon as it is known.
    pub(crate) fn show(&mut self, event: &Event<'_>) {
        match event {
            Event::Introduced(peer) => self.peer = Some((*peer).clone()),
            Event::Opened(streams) => self.streams = streams.to_vec(),
            Event::Started { plan, .. } => self.open(plan),
            Event::Sampled(course) if self.has_intervals => self.print_intervals(course),
            _ => {}
        }
    }

    fn open(&mut self, plan: &TestPlan) {
        if !std::mem::replace(&mut self.is_open, true) {
            let peer = self.peer.as_ref();
            let head = Head::new(
                peer,
                plan,
                &self.streams,
                &self.kernel,
                (self.count, self.screen.asked()),
            );
            print(&self.screen.opening(&head));
        }
    }

    /// A line for each interval since the last look, which begins with its time: a row does with its
    /// name.
    fn print_intervals(&mut self, course: &Course<'_>) {
        let title = course.plan.title();
        if is_short(course.plan) {
            return;
        }
        let mut most = 0;
        for direction in course.intervals {
            for one in direction.intervals.iter().skip(self.intervals) {
                let (from, to) = (one.from.as_secs_f64(), one.to.as_secs_f64());
                let moved = interval(course.plan, direction.sender, one, self.unit());
                print(&[format!("    {from:.1}-{to:.1} s  {title}  {moved}")]);
            }
            most = most.max(direction.intervals.len());
        }
        self.intervals = most;
    }

    /// Prints a row.
    pub(crate) fn ended(&mut self, record: &TestRecord) {
        self.open(&record.plan);
        self.intervals = 0;
        let run = self.run(record);
        print(&self.screen.row(record, &run));
    }

    /// ` 2/3`; nothing of a row that is run once.
    fn run(&mut self, record: &TestRecord) -> String {
        let title = record.plan.row();
        let number = 1 + self.titles.iter().filter(|one| **one == title).count();
        self.titles.push(title);
        match record.origin.question {
            Some(_) => " further".to_owned(),
            None if self.runs > 1 => format!(" {number}/{}", self.runs),
            None => String::new(),
        }
    }

    /// Prints what stands under the rows; `is_kept`: the run is in a file; `verbose`: all details
    /// follow.
    pub(crate) fn close(
        self,
        records: &RecordSet,
        is_kept: bool,
        verbose: bool,
    ) -> anyhow::Result<()> {
        let rest = match (verbose, is_kept) {
            (true, _) => Rest::Follows,
            (false, true) => Rest::Kept,
            (false, false) => Rest::Verbose,
        };
        output::print_table(|out| self.screen.with_rest(rest).close(records, out))?;
        if verbose {
            output::print_text(b"\n")?;
            output::print(records, &Details)?;
        }
        Ok(())
    }
}

/// Whether one interval is about all of a row.
fn is_short(plan: &TestPlan) -> bool {
    matches!(plan.end, End::Time(time) if time < 2 * plan.interval)
}

fn print(lines: &[String]) {
    let mut out = anstream::stdout().lock();
    // A reader that is gone is told of at the end.
    for line in lines {
        _ = writeln!(out, "{line}");
    }
    _ = out.flush();
}
