//! The rows of one table, and which row is another's.

use std::collections::HashSet;

use measurement::Profile;

use super::super::samples::{Samples, row as place_of};
use super::ahead::Ahead;
use super::row::PerfRow;
use crate::import::Table;

/// The rows of a table that were read so far.
pub(super) struct Rows<'a> {
    ahead: Ahead<'a>,
    first: usize,
    samples: Samples,
    places: HashSet<&'a str>,
    sum: Sum,
    order: Order,
    /// Chains of calls stand between rows, with blank lines behind them.
    has_chains: bool,
    /// Something stands between the last row and the next.
    is_interrupted: bool,
}

/// Of the own shares.
#[derive(Clone, Copy, Default)]
struct Sum {
    hundredths: u64,
    /// Of the last digits: half of them may be rounding.
    units: u64,
}

/// Of the first shares.
#[derive(Clone, Copy)]
struct Order {
    last: u64,
    is_falling: bool,
}

impl<'a> Rows<'a> {
    /// Below these lines, from the row with this number on.
    pub(super) fn below(ahead: Ahead<'a>, first: usize) -> Self {
        Self {
            ahead,
            first,
            samples: Samples::default(),
            places: HashSet::new(),
            sum: Sum::default(),
            order: Order { last: u64::MAX, is_falling: true },
            has_chains: false,
            is_interrupted: false,
        }
    }

    /// Whether a row cannot be of this table: the shares would be more than all, or they start
    /// over behind other lines.
    pub(super) fn is_another(&self, row: &PerfRow<'_>) -> bool {
        let is_larger = self.order.is_falling && row.lead.hundredths > self.order.last;
        let starts_over = is_larger || self.places.contains(row.place);
        self.sum.with(row).exceeds() || (self.is_interrupted && starts_over)
    }

    pub(super) fn add(&mut self, row: &PerfRow<'a>) {
        let place = place_of(row.command, row.file, row.mode, row.symbol);
        self.samples.add(place, row.own.hundredths);
        self.places.insert(row.place);
        self.sum = self.sum.with(row);
        self.order.is_falling &= row.lead.hundredths <= self.order.last;
        self.order.last = row.lead.hundredths;
        self.is_interrupted = false;
    }

    pub(super) const fn chain(&mut self) {
        self.has_chains = true;
    }

    pub(super) const fn blank(&mut self) {
        self.is_interrupted |= !self.has_chains;
    }

    pub(super) const fn prose(&mut self) {
        self.is_interrupted = true;
    }

    pub(super) fn finish(self) -> Table {
        // Shares are of all that was sampled; a screen shows the first of them.
        let all = self.samples.count().max(WHOLE);
        let from = if self.ahead.is_top { "perf top" } else { "perf report" };
        let profile = self.samples.profile(from, all);
        let profile = Profile { event: event_name(self.ahead.event), ..profile };
        Table {
            line: self.ahead.line(self.first),
            section: self.ahead.section(),
            heading: self.ahead.heading(),
            profile,
        }
    }
}

impl Sum {
    const fn with(self, row: &PerfRow<'_>) -> Self {
        let hundredths = self.hundredths.saturating_add(row.own.hundredths);
        Self { hundredths, units: self.units.saturating_add(row.own.unit) }
    }

    const fn exceeds(self) -> bool {
        self.hundredths > WHOLE.saturating_add(self.units / 2)
    }
}

/// Without modifiers: `cpu-clock` of `cpu-clock:pppH`.
fn event_name(event: &str) -> String {
    let name = event.split(':').next().unwrap_or("");
    let is_of_name = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '-';
    name.chars().filter(is_of_name).take(64).collect()
}

/// A hundred percent.
const WHOLE: u64 = 10_000;
