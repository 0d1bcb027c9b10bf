//! Named counters of a host at several instants: a table with a row for each.
//!
//! Names are those of the kernel behind the name of what was read, with the unit at the end
//! where it is not a count: `cpu.3.softirq_ns`, `snmp.Udp.RcvbufErrors`,
//! `interface.eth0.rx_dropped`. So a counter of tomorrow's kernel or driver needs no change
//! here, and travels.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Timestamp;

/// What a host counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// When it was read, on the clock of the host that did; in order.
    pub at: Vec<Timestamp>,
    /// What was read: the first part of names, e.g. `softnet`. A counter of these that is
    /// not below did not change.
    pub families: BTreeSet<String>,
    /// What only grows, with a value for each instant. In JSON: the first value, then by how
    /// much each is above the one before.
    #[serde(with = "differences")]
    #[schemars(with = "BTreeMap<String, Vec<u64>>")]
    pub counters: BTreeMap<String, Vec<u64>>,
    /// What goes up and down, with a value for each instant, or one if it never changed.
    pub gauges: BTreeMap<String, Vec<i64>>,
}

impl Series {
    /// How much the counter `name` grew from instant `from` to instant `to`, both indices of
    /// [`Self::at`]; zero if it did not change, none if it was not read.
    pub fn growth_between(&self, name: &str, from: usize, to: usize) -> Option<u64> {
        let Some(values) = self.counters.get(name) else {
            return self.families.contains(family(name)).then_some(0);
        };
        Some(values.get(to)?.saturating_sub(*values.get(from)?))
    }

    /// The same from the first instant to the last.
    pub fn growth(&self, name: &str) -> Option<u64> {
        self.growth_between(name, 0, self.at.len().checked_sub(1)?)
    }

    /// The sum of [`Self::growth`] over all counters `prefix.*.suffix`, where the part between
    /// is any: `softnet.*.dropped`.
    pub fn growth_of_all(&self, prefix: &str, suffix: &str) -> Option<u64> {
        let grown = self.each(prefix, suffix).filter_map(|(_, name)| self.growth(name));
        let sum = grown.fold(0_u64, u64::saturating_add);
        self.families.contains(family(prefix)).then_some(sum)
    }

    /// Counters `prefix.*.suffix`: what stands in between, and the whole name.
    pub fn each<'a>(
        &'a self,
        prefix: &'a str,
        suffix: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.counters.keys().filter_map(move |name| {
            let rest = name.strip_prefix(prefix)?.strip_prefix('.')?;
            Some((rest.strip_suffix(suffix)?.strip_suffix('.')?, name.as_str()))
        })
    }

    /// A gauge at every instant at which it was read; empty if it never was.
    pub fn gauge(&self, name: &str) -> &[i64] {
        self.gauges.get(name).map_or(&[], Vec::as_slice)
    }

    /// From the first reading to the last.
    pub fn span(&self) -> std::time::Duration {
        match (self.at.first(), self.at.last()) {
            (Some(first), Some(last)) => last.since(*first),
            _ => std::time::Duration::ZERO,
        }
    }

    /// The index of the last reading at or before `at`; the first one if all are later.
    pub fn index_at(&self, at: Timestamp) -> usize {
        self.at.partition_point(|one| *one <= at).saturating_sub(1)
    }

    /// Leaves out what says nothing: counters that did not change, and repeated gauges.
    pub fn settle(&mut self) {
        self.counters.retain(|_, values| values.windows(2).any(|pair| pair[0] != pair[1]));
        for values in self.gauges.values_mut() {
            if values.windows(2).all(|pair| pair[0] == pair[1]) {
                values.truncate(1);
            }
        }
    }

    /// Whether every counter has a value for each instant, and gauges one or as many.
    pub fn is_whole(&self) -> bool {
        let rows = self.at.len();
        self.counters.values().all(|values| values.len() == rows)
            && self.gauges.values().all(|values| values.len() == rows || values.len() == 1)
            && self.at.is_sorted()
    }
}

/// The first part of a name: what was read.
pub fn family(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// Counters as they are written: most hardly grow, so that the differences are short.
mod differences {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        counters: &BTreeMap<String, Vec<u64>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(counters.iter().map(|(name, values)| {
            let mut before = 0_u64;
            let grown = |value: &u64| {
                let by = value.saturating_sub(before);
                before = *value;
                by
            };
            (name, values.iter().map(grown).collect::<Vec<_>>())
        }))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<String, Vec<u64>>, D::Error> {
        let mut counters = BTreeMap::<String, Vec<u64>>::deserialize(deserializer)?;
        for values in counters.values_mut() {
            let mut sum = 0_u64;
            for value in values {
                sum = sum.saturating_add(*value);
                *value = sum;
            }
        }
        Ok(counters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series() -> Series {
        let mut series = Series {
            at: [1, 2, 3].map(Timestamp::from_nanos).to_vec(),
            families: ["softnet", "thermal"].map(str::to_owned).into(),
            ..Series::default()
        };
        series.counters.insert("softnet.0.dropped".to_owned(), vec![1, 1, 4]);
        series.counters.insert("softnet.1.dropped".to_owned(), vec![7, 8, 9]);
        series.counters.insert("softnet.1.processed".to_owned(), vec![5, 5, 5]);
        series.gauges.insert("thermal.0.millicelsius".to_owned(), vec![40, 40, 40]);
        series
    }

    #[test]
    fn what_was_read_and_did_not_change_grew_by_nothing() {
        let mut series = series();
        series.settle();
        assert!(series.is_whole());
        assert_eq!(series.growth("softnet.0.dropped"), Some(3));
        assert_eq!(series.growth_between("softnet.0.dropped", 0, 1), Some(0));
        assert_eq!(series.growth("softnet.1.processed"), Some(0), "left out since constant");
        assert_eq!(series.growth("snmp.Udp.RcvbufErrors"), None, "never read");
        assert_eq!(series.growth_of_all("softnet", "dropped"), Some(5));
        assert_eq!(series.growth_of_all("qdisc", "drops"), None);
        assert_eq!(series.gauge("thermal.0.millicelsius"), [40]);
    }

    #[test]
    fn counters_are_written_as_differences() {
        let json = serde_json::to_value(series()).expect("serialises");
        assert_eq!(json["counters"]["softnet.0.dropped"], serde_json::json!([1, 0, 3]));
        assert_eq!(serde_json::from_value::<Series>(json).expect("reads"), series());
    }

    #[test]
    fn an_instant_finds_its_reading() {
        let series = series();
        let index = |nanos| series.index_at(Timestamp::from_nanos(nanos));
        assert_eq!((index(0), index(2), index(9)), (0, 1, 2));
    }
}
