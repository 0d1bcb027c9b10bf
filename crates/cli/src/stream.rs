//! Prints the events of a run as lines of JSON while it runs (`--json-stream`).

use std::borrow::Cow;
use std::io;

use campaign::{Event, Monitor};
use measurement::{Course, Direction, RunEvent};
use report::export::write_event;

/// Prints the events of the rows, one after another; the end of the run is printed with its results.
#[derive(Default)]
pub(crate) struct EventLines {
    /// Number of the row that runs.
    row: u32,
    /// Rows that have begun.
    begun: u32,
    /// Whether the test that runs is a row; a trial is none.
    is_row: bool,
    /// How many intervals of each direction were printed.
    printed: usize,
}

impl Monitor for EventLines {
    fn receive(&mut self, event: &Event<'_>) {
        if let Event::Begins(task) = event {
            self.is_row = task.purpose.is_result();
            self.printed = 0;
            if self.is_row {
                (self.row, self.begun) = (self.begun, self.begun + 1);
            }
        }
        if !self.is_row {
            return;
        }
        let row = self.row;
        match event {
            Event::Started { plan, peer } => print(&RunEvent::Start {
                row,
                title: plan.row(),
                linerate: Cow::Borrowed(env!("CARGO_PKG_VERSION")),
                plan: Cow::Borrowed(plan),
                peer: Cow::Borrowed(peer),
            }),
            Event::Sampled(course) => self.print_intervals(course),
            Event::Ended(record) => print(&RunEvent::Row { row, record: Cow::Borrowed(record) }),
            _ => {}
        }
    }
}

impl EventLines {
    fn print_intervals(&mut self, course: &Course<'_>) {
        for one in course.intervals {
            let direction = if one.sender { Direction::Send } else { Direction::Receive };
            for interval in one.intervals.iter().skip(self.printed) {
                print(&RunEvent::Interval { row: self.row, direction, interval: *interval });
            }
        }
        let lengths = course.intervals.iter().map(|one| one.intervals.len());
        self.printed = lengths.max().unwrap_or(0);
    }
}

/// Prints the line of an event. A reader that went away is no reason to stop measuring.
pub(crate) fn print(event: &RunEvent<'_>) {
    _ = write_event(event, &mut io::stdout().lock());
}
