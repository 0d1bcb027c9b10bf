//! Named counters of a host at several instants: a table with a row for each.
//!
//! Names are those of the kernel behind the name of what was read, with the unit at the end
//! where it is not a count: `cpu.3.softirq_ns`, `snmp.Udp.RcvbufErrors`,
//! `interface.eth0.rx_dropped`. So a counter of tomorrow's kernel or driver needs no change
//! here, and travels.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::counter::{Counter, EachCounter, EachGauge, Family, Gauge};
use crate::units::Timestamp;

/// Time series of the counters and gauges of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Series {
    /// Times of the readings, in order, on the clock of the host, in nanoseconds.
    #[serde(rename = "at_nanos")]
    pub at: Vec<Timestamp>,
    /// The families that were read: the first part of names, e.g. `softnet`. A counter of these
    /// that is not below did not change.
    families: BTreeSet<String>,
    /// Counters, which only grow, with a value for each instant.
    counters: BTreeMap<String, Vec<u64>>,
    /// Gauges, with a value for each instant, or one if it never changed.
    gauges: BTreeMap<String, Vec<i64>>,
}

impl Series {
    /// Makes a series of readings at the times `at`, which are in order and on the host's monotonic
    /// clock. It has no counters and gauges yet.
    pub fn new(at: Vec<Timestamp>) -> Self {
        Self { at, ..Self::default() }
    }

    /// Records that `family` was read. A counter of `family` that the series does not contain then
    /// counts as unchanged.
    pub fn note_read(&mut self, family: Family) {
        self.families.insert(family.as_str().to_owned());
    }

    /// Sets the values of `counter`, one for each time in [`Self::at`].
    pub fn put(&mut self, counter: Counter<'_>, values: Vec<u64>) {
        self.counters.insert(counter.to_string(), values);
    }

    /// Sets the values of `gauge`, one for each time in [`Self::at`], or a single value for all of
    /// them.
    pub fn put_gauge(&mut self, gauge: Gauge<'_>, values: Vec<i64>) {
        self.gauges.insert(gauge.to_string(), values);
    }

    /// Removes all counters and gauges of `family`, as if `family` had not been read.
    pub fn remove(&mut self, family: Family) {
        self.families.remove(family.as_str());
        self.retain(|name| Family::name_in(name) != family.as_str());
    }

    /// Keeps only the counters and gauges for whose full names `keep` returns true.
    pub fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.counters.retain(|name, _| keep(name));
        self.gauges.retain(|name, _| keep(name));
    }

    /// Whether `family` was read. If so, a counter of `family` that the series does not contain did
    /// not change.
    pub fn has_read(&self, family: Family) -> bool {
        self.families.contains(family.as_str())
    }

    /// Names of the families of counters and gauges that were read, e.g. `softnet`, in alphabetical
    /// order.
    pub fn families(&self) -> impl ExactSizeIterator<Item = &str> {
        self.families.iter().map(String::as_str)
    }

    /// Counters in the series: the full name of each, and its values, one for each time in
    /// [`Self::at`]. A counter that did not change may be left out.
    pub fn counters(&self) -> impl ExactSizeIterator<Item = (&str, &[u64])> {
        self.counters.iter().map(|(name, values)| (name.as_str(), values.as_slice()))
    }

    /// Gauges that were read: the full name of each, and its values, one for each time in
    /// [`Self::at`] or a single one for all of them.
    pub fn gauges(&self) -> impl ExactSizeIterator<Item = (&str, &[i64])> {
        self.gauges.iter().map(|(name, values)| (name.as_str(), values.as_slice()))
    }

    /// Values of `counter`, one for each time in [`Self::at`]. None: it did not change, or was not
    /// read.
    pub fn values(&self, counter: Counter<'_>) -> Option<&[u64]> {
        self.counters.get(&counter.to_string()).map(Vec::as_slice)
    }

    /// Growth of `counter` from reading `from` to reading `to`, both indices of [`Self::at`]. Zero:
    /// it did not change. None: it was not read.
    pub fn growth_between(&self, counter: Counter<'_>, from: usize, to: usize) -> Option<u64> {
        let name = counter.to_string();
        let Some(values) = self.counters.get(&name) else {
            return self.families.contains(Family::name_in(&name)).then_some(0);
        };
        Some(values.get(to)?.saturating_sub(*values.get(from)?))
    }

    /// Growth of `counter` from the first reading to the last. Zero: it did not change. None: it
    /// was not read.
    pub fn growth(&self, counter: Counter<'_>) -> Option<u64> {
        self.growth_between(counter, 0, self.at.len().checked_sub(1)?)
    }

    /// Sum of the growth of all `counters` from the first reading to the last. None: their family
    /// was not read.
    pub fn growth_of_all(&self, counters: EachCounter<'_>) -> Option<u64> {
        let grown = self.each(counters).filter_map(|(_, counter)| self.growth(counter));
        let sum = grown.fold(0_u64, u64::saturating_add);
        self.has_read(counters.family()).then_some(sum)
    }

    /// Counters in the series that match the pattern `counters`, e.g. `interface.*.rx_dropped`: for
    /// each the item, e.g. `eth0`, and the full name. A counter that did not change may be left
    /// out.
    pub fn each<'a>(
        &'a self,
        counters: EachCounter<'a>,
    ) -> impl Iterator<Item = (&'a str, Counter<'a>)> {
        let names = below(&self.counters, counters.prefix());
        names.filter_map(move |(name, rest)| Some((counters.item_in(rest)?, Counter::known(name))))
    }

    /// Gauges that match the pattern `gauges`, e.g. `frequency.*.khz`, and were read: for each the
    /// item, e.g. CPU `0`, and the full name.
    pub fn each_gauge<'a>(
        &'a self,
        gauges: EachGauge<'a>,
    ) -> impl Iterator<Item = (&'a str, Gauge<'a>)> {
        let names = below(&self.gauges, gauges.prefix());
        names.filter_map(move |(name, rest)| Some((gauges.item_in(rest)?, Gauge::known(name))))
    }

    /// Values of `gauge`, one for each time in [`Self::at`], or a single one if it never changed.
    /// Empty: it was not read.
    pub fn gauge(&self, gauge: Gauge<'_>) -> &[i64] {
        self.gauges.get(&gauge.to_string()).map_or(&[], Vec::as_slice)
    }

    /// Time from the first reading to the last; zero if there are fewer than two.
    pub fn span(&self) -> std::time::Duration {
        match (self.at.first(), self.at.last()) {
            (Some(first), Some(last)) => last.since(*first),
            _ => std::time::Duration::ZERO,
        }
    }

    /// Index of the last reading at or before `at`, on the clock of the host. It is 0 if all
    /// readings are later.
    pub fn index_at(&self, at: Timestamp) -> usize {
        self.at.partition_point(|one| *one <= at).saturating_sub(1)
    }

    /// Makes the series shorter: removes counters that did not change, and repeated values of
    /// gauges that did not change.
    pub fn settle(&mut self) {
        self.counters.retain(|_, values| values.windows(2).any(|pair| pair[0] != pair[1]));
        for values in self.gauges.values_mut() {
            if values.windows(2).all(|pair| pair[0] == pair[1]) {
                values.truncate(1);
            }
        }
    }

    /// The series with the first value of each counter, then the differences, as it is sent: most hardly
    /// grow, so that these are short.
    #[must_use]
    pub fn into_differences(mut self) -> Self {
        for values in self.counters.values_mut() {
            let mut before = 0_u64;
            for value in values {
                let by = value.saturating_sub(before);
                before = std::mem::replace(value, by);
            }
        }
        self
    }

    /// The series of which [`Self::into_differences`] made this one.
    #[must_use]
    pub fn from_differences(mut self) -> Self {
        for values in self.counters.values_mut() {
            let mut sum = 0_u64;
            for value in values {
                sum = sum.saturating_add(*value);
                *value = sum;
            }
        }
        self
    }

    /// Whether the series is consistent: the times are in order, each counter has a value for each
    /// time, and each gauge has one value or as many.
    pub fn is_whole(&self) -> bool {
        let rows = self.at.len();
        self.counters.values().all(|values| values.len() == rows)
            && self.gauges.values().all(|values| values.len() == rows || values.len() == 1)
            && self.at.is_sorted()
    }
}

/// Names that begin with a prefix, whole and without it.
fn below<T>(columns: &BTreeMap<String, T>, prefix: String) -> impl Iterator<Item = (&str, &str)> {
    let names = columns.range(prefix.clone()..);
    names.map_while(move |(name, _)| Some((name.as_str(), name.strip_prefix(&prefix)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::counter;

    fn series() -> Series {
        let mut series = Series::new([1, 2, 3].map(Timestamp::from_nanos).to_vec());
        series.note_read(Family::SOFTNET);
        series.note_read(Family::THERMAL);
        series.put(counter::SOFTNET_DROPPED.on(0), vec![1, 1, 4]);
        series.put(counter::SOFTNET_DROPPED.on(1), vec![7, 8, 9]);
        series.put(counter::SOFTNET_PROCESSED.on(1), vec![5, 5, 5]);
        series.put_gauge(counter::THERMAL_MILLICELSIUS.on(0), vec![40, 40, 40]);
        series
    }

    #[test]
    fn what_was_read_and_did_not_change_grew_by_nothing() {
        let mut series = series();
        series.settle();
        assert!(series.is_whole());
        let dropped = counter::SOFTNET_DROPPED;
        assert_eq!(series.growth(dropped.on(0)), Some(3));
        assert_eq!(series.growth_between(dropped.on(0), 0, 1), Some(0));
        let processed = counter::SOFTNET_PROCESSED.on(1);
        assert_eq!(series.growth(processed), Some(0), "left out since constant");
        assert_eq!(series.growth(counter::UDP_RCVBUF_ERRORS.v4), None, "never read");
        assert_eq!(series.growth_of_all(dropped), Some(5));
        assert_eq!(series.growth_of_all(counter::QDISC_DROPS), None);
        assert_eq!(series.gauge(counter::THERMAL_MILLICELSIUS.on(0)), [40]);
    }

    #[test]
    fn counters_are_written_as_they_are_and_sent_as_differences() {
        let json = serde_json::to_value(series()).expect("serialises");
        assert_eq!(json["counters"]["softnet.0.dropped"], serde_json::json!([1, 1, 4]));
        assert_eq!(serde_json::from_value::<Series>(json).expect("reads"), series());
        let sent = series().into_differences();
        assert_eq!(sent.values(counter::SOFTNET_DROPPED.on(0)), Some(&[1, 0, 3][..]));
        assert_eq!(sent.from_differences(), series());
    }

    #[test]
    fn an_instant_finds_its_reading() {
        let series = series();
        let index = |nanos| series.index_at(Timestamp::from_nanos(nanos));
        assert_eq!((index(0), index(2), index(9)), (0, 1, 2));
    }
}
