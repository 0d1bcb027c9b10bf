//! What stands above a table: its header, and what people wrote.

use super::super::samples::shown;

/// What was read since the last row.
#[derive(Default)]
pub(super) struct Ahead<'a> {
    /// Number of the first header.
    header: Option<usize>,
    title: Option<(Title, usize, &'a str)>,
    /// That holds until the next one.
    pub(super) section: &'a str,
    pub(super) event: &'a str,
    pub(super) is_top: bool,
}

/// Lines that may name a table, those that name it best last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Title {
    Prose,
    Prompt,
    Heading,
}

impl<'a> Ahead<'a> {
    pub(super) fn in_section(section: &'a str) -> Self {
        Self { section, ..Self::default() }
    }

    pub(super) fn header(&mut self, number: usize, header: &'a str) {
        self.header.get_or_insert(number);
        self.is_top |= header.starts_with("PerfTop:");
        self.event = event(header).unwrap_or(self.event);
    }

    pub(super) fn title(&mut self, number: usize, title: Title, text: &'a str) {
        if self.title.is_none_or(|(other, ..)| other <= title) {
            self.title = Some((title, number, text));
        }
    }

    /// The number of the line with the heading; without one that of the header, or of the first
    /// row.
    pub(super) fn line(&self, row: usize) -> usize {
        let title = self.title.map(|(_, number, _)| number);
        title.or(self.header).unwrap_or(row)
    }

    /// Without a title the event: a report of several has a table for each.
    pub(super) fn heading(&self) -> String {
        let text = self.title.map_or(self.event, |(.., text)| text);
        fitted(text.trim_start_matches(['*', '-', ' ']))
    }

    /// The part of the text; empty: it has none.
    pub(super) fn section(&self) -> String {
        fitted(self.section)
    }
}

fn fitted(text: &str) -> String {
    shown(text).trim().chars().take(LONGEST).collect()
}

/// `Samples: 12K of event 'cycles'`, or `[4000Hz cycles]` above a screen.
fn event(header: &str) -> Option<&str> {
    let quoted = header.split_once("of event '").and_then(|(_, rest)| rest.split_once('\''));
    let screen = || header.split_once("Hz ").and_then(|(_, rest)| rest.split_once(']'));
    quoted.or_else(screen).map(|(name, _)| name)
}

/// Letters of a heading.
const LONGEST: usize = 72;
