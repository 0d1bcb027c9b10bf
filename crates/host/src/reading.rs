//! The values that a collector read so far: a column for each counter, a row for each sample.
//!
//! Most counters of a host never change. Such a column is its first value and no more, so
//! that a host with a thousand interrupts takes little memory, and one whose values come in
//! the same order every time is filled without a search.

use std::collections::HashMap;
use std::fmt::{Display, Write};
use std::sync::Arc;

use measurement::host::{Counter, Gauge};
use measurement::{Gap, Series};

/// Values of counters and gauges that a [`Collector`](crate::collectors::Collector) has read: one
/// for each counter and sample.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    row: usize,
    /// How often the collector read.
    reads: usize,
    counters: Columns<Counted>,
    gauges: Columns<Column<i64>>,
    gaps: Vec<Gap>,
    name: String,
}

impl Reading {
    /// Starts the sample with the index `row`. Values that are recorded next belong to it. `row`
    /// must be larger than those before.
    pub fn begin(&mut self, row: usize) {
        self.row = row;
        self.reads += 1;
        self.counters.next = 0;
        self.gauges.next = 0;
    }

    /// Records the value of a counter (a number that only grows) for the current sample. If a name
    /// occurs twice in a sample, the first value counts.
    pub fn counter(&mut self, name: Counter<'_>, value: u64) {
        self.counter_since(name, value, value);
    }

    /// Records a counter that its source omits while it is zero, as some files below `/proc` do. If
    /// it was missing in earlier samples, it counts as zero there.
    pub fn counter_from_zero(&mut self, name: Counter<'_>, value: u64) {
        let before = if self.reads > 1 { 0 } else { value };
        self.counter_since(name, before, value);
    }

    /// Records a counter that its source omitted in earlier samples: it counts as `before` there.
    pub fn counter_since(&mut self, name: Counter<'_>, before: u64, value: u64) {
        let name = spell(&mut self.name, &name);
        let new = || Counted { raw: before, column: Column::new(before) };
        self.counters.at(name, self.row, new, |counter, row| counter.put(row, value));
    }

    /// Records the value of a gauge (a number that grows and shrinks) for the current sample.
    pub fn gauge(&mut self, name: Gauge<'_>, value: i64) {
        let name = spell(&mut self.name, &name);
        let new = || Column::new(value);
        self.gauges.at(name, self.row, new, |column, row| column.put(row, value));
    }

    /// Records a gap: a source that could not be read while others could.
    pub fn gap(&mut self, gap: Gap) {
        if !self.gaps.contains(&gap) {
            self.gaps.push(gap);
        }
    }

    /// Keeps only the samples whose indices are in `keep`. `keep` is sorted and has no index above
    /// the last.
    pub fn thin(&mut self, keep: &[usize]) {
        for entry in &mut self.counters.all {
            entry.column.column.thin(keep);
            entry.seen = None;
        }
        for entry in &mut self.gauges.all {
            entry.column.thin(keep);
            entry.seen = None;
        }
    }

    /// Appends all gauges, and the counters that changed within `rows` samples, to `series`, and
    /// the gaps to `gaps`.
    pub fn append_to(self, rows: usize, series: &mut Series, gaps: &mut Vec<Gap>) {
        for entry in self.counters.all {
            if let Some(values) = entry.column.column.whole(rows) {
                series.put(Counter::from_text(format_args!("{}", entry.name)), values);
            }
        }
        for entry in self.gauges.all {
            let first = entry.column.first;
            let values = entry.column.whole(rows).unwrap_or_else(|| vec![first]);
            series.put_gauge(Gauge::from_text(format_args!("{}", entry.name)), values);
        }
        gaps.extend(self.gaps);
    }

    /// All counters: the name of each and the value that was read last, in the order of their first
    /// occurrence.
    pub fn counters(&self) -> impl Iterator<Item = (&str, u64)> {
        self.counters.all.iter().map(|entry| (&*entry.name, entry.column.raw))
    }

    /// All gauges: the name of each and the value that was read last, in the order of their first
    /// occurrence.
    pub fn gauges(&self) -> impl Iterator<Item = (&str, i64)> {
        self.gauges.all.iter().map(|entry| (&*entry.name, entry.column.last))
    }

    /// Whether any counter or gauge was recorded.
    pub fn has_any(&self) -> bool {
        !self.counters.all.is_empty() || !self.gauges.all.is_empty()
    }

    /// The recorded gaps: sources that could not be read while others could.
    pub fn gaps(&self) -> &[Gap] {
        &self.gaps
    }
}

fn spell<'a>(into: &'a mut String, name: &impl Display) -> &'a str {
    into.clear();
    // Writing to a string does not fail.
    let _ = write!(into, "{name}");
    into
}

/// Columns by name, in the order in which their names came first.
#[derive(Clone, Debug)]
struct Columns<C> {
    all: Vec<Entry<C>>,
    places: HashMap<Arc<str>, usize>,
    /// Where the next name stands if this look is as the one before.
    next: usize,
}

#[derive(Clone, Debug)]
struct Entry<C> {
    name: Arc<str>,
    column: C,
    /// The row at which it was put last.
    seen: Option<usize>,
}

impl<C> Default for Columns<C> {
    fn default() -> Self {
        Self { all: Vec::new(), places: HashMap::new(), next: 0 }
    }
}

impl<C> Columns<C> {
    fn at(
        &mut self,
        name: &str,
        row: usize,
        new: impl FnOnce() -> C,
        put: impl FnOnce(&mut C, usize),
    ) {
        let place = self.place(name, new);
        self.next = place + 1;
        let entry = &mut self.all[place];
        if entry.seen != Some(row) {
            entry.seen = Some(row);
            put(&mut entry.column, row);
        }
    }

    fn place(&mut self, name: &str, new: impl FnOnce() -> C) -> usize {
        if self.all.get(self.next).is_some_and(|entry| *entry.name == *name) {
            return self.next;
        }
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        let name: Arc<str> = name.into();
        self.places.insert(name.clone(), self.all.len());
        self.all.push(Entry { name, column: new(), seen: None });
        self.all.len() - 1
    }
}

/// A counter as the kernel reports it (`raw`), and as it would be if it never wrapped.
#[derive(Clone, Debug)]
struct Counted {
    raw: u64,
    column: Column<u64>,
}

impl Counted {
    fn put(&mut self, row: usize, raw: u64) {
        if let Some(grown) = growth(self.raw, raw) {
            self.raw = raw;
            self.column.put(row, self.column.last.saturating_add(grown));
        }
    }
}

/// By how much a counter grew that was `before` and is `now`; none if it only wavers, as the
/// idle time of a CPU may (proc_stat(5)): what it was counts.
fn growth(before: u64, now: u64) -> Option<u64> {
    if now >= before {
        return Some(now - before);
    }
    let fell_by = before - now;
    if fell_by <= before / 2 {
        return None;
    }
    let wraps = u32::try_from(before).is_ok_and(|before| before > u32::MAX / 2);
    // Many are of 32 bits. Any other began anew, e.g. with its driver.
    Some(if wraps { (1 << 32) - fell_by } else { now })
}

/// The values of one counter or gauge.
#[derive(Clone, Debug)]
struct Column<T> {
    /// The value that was read first; earlier rows have it too.
    first: T,
    last: T,
    /// Empty until it changes; later a value for each row up to that of the last change.
    values: Vec<T>,
}

impl<T: Copy + PartialEq> Column<T> {
    fn new(first: T) -> Self {
        Self { first, last: first, values: Vec::new() }
    }

    fn put(&mut self, row: usize, value: T) {
        if value != self.last && row >= self.values.len() {
            self.values.resize(row, self.last);
            self.values.push(value);
            self.last = value;
        }
    }

    fn thin(&mut self, keep: &[usize]) {
        if self.values.is_empty() {
            return;
        }
        let rows = keep.last().map_or(0, |last| last + 1);
        if self.values.len() < rows {
            self.values.resize(rows, self.last);
        }
        self.values = keep.iter().map(|row| self.values[*row]).collect();
    }

    /// A value for each of the rows; none if all are the first.
    fn whole(mut self, rows: usize) -> Option<Vec<T>> {
        if self.values.is_empty() {
            return None;
        }
        self.values.resize(rows, self.last);
        Some(self.values)
    }
}

#[cfg(test)]
mod tests {
    use measurement::host::counter;

    use super::*;

    fn named(field: &str) -> Counter<'_> {
        counter::driver("eth0").on(field)
    }

    fn series(rows: usize, fill: impl Fn(&mut Reading, usize)) -> Series {
        let mut reading = Reading::default();
        for row in 0..rows {
            reading.begin(row);
            fill(&mut reading, row);
        }
        let mut series = Series::default();
        reading.append_to(rows, &mut series, &mut Vec::new());
        series
    }

    #[test]
    fn what_never_changes_is_left_out_or_one_value() {
        let series = series(3, |reading, _| {
            reading.counter(named("a.b"), 7);
            reading.gauge(counter::CONNTRACK_COUNT, 7);
        });
        assert_eq!(
            (series.counters().len(), series.gauge(counter::CONNTRACK_COUNT)),
            (0, &[7][..])
        );
    }

    #[test]
    fn what_appears_is_filled_backwards_and_what_vanishes_keeps_its_last() {
        let series = series(5, |reading, row| {
            if row < 2 {
                reading.counter(named("goes"), 10 + row as u64);
            } else {
                reading.counter(named("comes"), 10 * row as u64);
                reading.counter_from_zero(named("shown"), row as u64);
            }
        });
        assert_eq!(series.values(named("goes")), Some(&[10, 11, 11, 11, 11][..]));
        assert_eq!(series.values(named("comes")), Some(&[20, 20, 20, 30, 40][..]));
        assert_eq!(series.values(named("shown")), Some(&[0, 0, 2, 3, 4][..]));
    }

    #[test]
    fn names_may_come_in_any_order_and_twice() {
        let series = series(3, |reading, row| {
            let mut names = ["x", "y", "z"];
            names.rotate_left(row);
            for name in names {
                reading.counter(named(name), row as u64);
                reading.counter(named(name), 99);
            }
        });
        assert!(series.counters().all(|(_, values)| *values == [0, 1, 2]), "{series:?}");
        assert_eq!(series.counters().len(), 3);
    }

    #[test]
    fn a_counter_that_falls_wrapped_or_began_anew_or_wavers() {
        let column = |values: [u64; 3]| {
            let series = series(3, |reading, row| reading.counter(named("n"), values[row]));
            series.values(named("n")).unwrap_or_default().to_vec()
        };
        let most = u64::from(u32::MAX);
        assert_eq!(column([most - 1, 8, 9]), [most - 1, most + 9, most + 10]);
        assert_eq!(column([1000, 3, 5]), [1000, 1003, 1005]);
        assert_eq!(column([1000, 0, 600]), [1000, 1000, 1600]);
        assert_eq!(column([1000, 999, 1001]), [1000, 1000, 1001]);
    }

    #[test]
    fn thinned_columns_keep_what_they_were_at_their_rows() {
        let mut reading = Reading::default();
        for row in 0..10 {
            reading.begin(row);
            reading.counter(named("grows"), 5 * row as u64);
            reading.counter(named("once"), u64::from(row > 2));
        }
        reading.thin(&[0, 4, 9]);
        reading.begin(3);
        reading.counter(named("grows"), 50);
        let mut series = Series::default();
        reading.append_to(4, &mut series, &mut Vec::new());
        assert_eq!(series.values(named("grows")), Some(&[0, 20, 45, 50][..]));
        assert_eq!(series.values(named("once")), Some(&[0, 1, 1, 1][..]));
    }
}
