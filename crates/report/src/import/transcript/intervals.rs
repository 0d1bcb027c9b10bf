//! The rows of intervals of one direction, all streams together.

use std::time::Duration;

use measurement::{BitRate, Interval};

use super::figure::Figure;
use super::row::{FigureRow, Id};

/// Intervals in the order of time.
#[derive(Clone, Debug, Default)]
pub(super) struct Intervals {
    pub(super) rows: Vec<Interval>,
    /// The last window and round-trip time of a sender.
    pub(super) window: Option<u64>,
    pub(super) rtt: Option<u64>,
    /// The stream whose row opens an interval.
    first: Option<Id>,
    has_sums: bool,
    /// Seconds up to which the rows follow one another without a gap.
    pub(super) until: f64,
    pub(super) has_gap: bool,
    pub(super) dropped: u64,
}

impl Intervals {
    pub(super) const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds the row of one stream, or of all; `sent`: the end that prints sends.
    pub(super) fn push(&mut self, row: &FigureRow, sent: bool) {
        self.window = row.tail.window.map(Figure::whole).or(self.window);
        self.rtt = row.tail.rtt.or(self.rtt);
        let interval = interval(row, sent);
        let first = *self.first.get_or_insert(row.id);
        if row.id == first {
            return self.append(interval, row);
        }
        let recent = self.rows.iter_mut().rev().take(RECENT);
        let same = recent.into_iter().find(|one| is_same(one, &interval));
        match same {
            Some(known) if row.id == Id::Sum => {
                *known = interval;
                self.has_sums = true;
            }
            Some(known) if !self.has_sums => add(known, &interval),
            _ => {}
        }
    }

    /// Bytes of all intervals that are not omitted; none: some are missing.
    pub(super) fn bytes(&self) -> Option<u64> {
        let counted = self.rows.iter().filter(|row| !row.omitted);
        let bytes = counted.fold(0_u64, |sum, row| sum.saturating_add(row.bytes));
        (self.dropped == 0 && !self.has_gap && !self.is_empty()).then_some(bytes)
    }

    fn append(&mut self, interval: Interval, row: &FigureRow) {
        if !row.tail.omitted {
            self.has_gap |= (row.from.value - self.until).abs() > SLACK;
            self.until = row.to.value;
        }
        if self.rows.len() < MOST_ROWS { self.rows.push(interval) } else { self.dropped += 1 }
    }
}

fn interval(row: &FigureRow, sent: bool) -> Interval {
    let seconds = |figure: Figure| Duration::try_from_secs_f64(figure.value).unwrap_or_default();
    let tail = &row.tail;
    let received = tail.total.unwrap_or(0).saturating_sub(tail.lost.unwrap_or(0));
    let is_tcp = tail.window.is_some();
    Interval {
        from: seconds(row.from),
        to: seconds(row.to),
        bytes: row.bytes.whole(),
        rate: BitRate::from_bits_per_second(row.rate.whole()),
        retransmits: if is_tcp { tail.count.unwrap_or(0) } else { 0 },
        missing: tail.lost.unwrap_or(0),
        blocks: match tail.count {
            Some(count) if sent && !is_tcp => count,
            _ => u64::try_from(received).unwrap_or(0),
        },
        omitted: tail.omitted,
    }
}

/// Streams of one interval begin at about the same time.
fn is_same(one: &Interval, other: &Interval) -> bool {
    let apart = one.from.abs_diff(other.from);
    one.omitted == other.omitted && apart * 2 < one.to.saturating_sub(one.from)
}

fn add(known: &mut Interval, other: &Interval) {
    known.bytes = known.bytes.saturating_add(other.bytes);
    let rate = known.rate.bits_per_second().saturating_add(other.rate.bits_per_second());
    known.rate = BitRate::from_bits_per_second(rate);
    known.retransmits = known.retransmits.saturating_add(other.retransmits);
    known.missing = known.missing.saturating_add(other.missing);
    known.blocks = known.blocks.saturating_add(other.blocks);
}

/// Rows among which the row of a sum belongs to an interval.
const RECENT: usize = 4;
/// Seconds by which printed times of one instant differ.
const SLACK: f64 = 0.02;
/// A day of seconds; further ones are not kept.
const MOST_ROWS: usize = 86_400;
