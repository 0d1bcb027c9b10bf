//! One host of a test, seen through the window of the result.

use std::time::Duration;

use measurement::host::{Counter, EachCounter, EachGauge, Family, Gauge, Interface};
use measurement::{HostEvidence, Role, TestRecord, Timestamp};

/// A host, and which of its readings belong to the result.
#[derive(Clone)]
pub(crate) struct HostView<'a> {
    pub(crate) evidence: &'a HostEvidence,
    /// The last reading before the result begins.
    from: usize,
    /// The first reading after that.
    inside: usize,
    /// The first reading after its end.
    to: usize,
}

impl<'a> HostView<'a> {
    /// The host `evidence` of `record`.
    pub(crate) fn from_record(record: &TestRecord, evidence: &'a HostEvidence) -> Self {
        let at = &evidence.series.at;
        let last = at.len().saturating_sub(1);
        let span = record.samples.get(record.base).zip(record.samples.last());
        let omits = record.base > 0;
        let Some((base, end)) = span.filter(|_| has_known_clock(record, evidence)) else {
            return Self { evidence, from: 0, inside: if omits { last } else { 0 }, to: last };
        };
        let (base, end) = (on_clock_of(evidence, base.at), on_clock_of(evidence, end.at));
        let from = evidence.series.index_at(base);
        let after = |instant| at.partition_point(|one| *one < instant).min(last);
        // Before the start of a test nothing of it moves.
        let inside = if omits { after(base) } else { from };
        Self { evidence, from, inside, to: after(end).max(from) }
    }

    /// A host that ran no test: all that was read of it.
    pub(crate) fn alone(evidence: &'a HostEvidence) -> Self {
        let last = evidence.series.at.len().saturating_sub(1);
        Self { evidence, from: 0, inside: 0, to: last }
    }

    pub(crate) const fn role(&self) -> &'a Role {
        &self.evidence.role
    }

    /// Whether both are namespaces of one kernel.
    pub(crate) fn is_same_kernel(&self, other: &Self) -> bool {
        let boot = &self.evidence.inventory.boot;
        boot.is_some() && *boot == other.evidence.inventory.boot
    }

    /// How long the readings of the result span.
    pub(crate) fn span(&self) -> Duration {
        let at = |index: usize| self.evidence.series.at.get(index).copied().unwrap_or_default();
        at(self.to).since(at(self.from))
    }

    /// Whether anything of that kind was read twice: then what is not listed did not change.
    pub(crate) fn reports(&self, family: Family) -> bool {
        self.to > self.from && self.evidence.series.has_read(family)
    }

    /// How much a counter grew, at most, during the result.
    pub(crate) fn growth(&self, counter: Counter<'_>) -> Option<u64> {
        let is_span = self.to > self.from;
        is_span.then(|| self.evidence.series.growth_between(counter, self.from, self.to)).flatten()
    }

    /// How much it grew at least.
    pub(crate) fn growth_inside(&self, counter: Counter<'_>) -> u64 {
        let inside = self.inside.min(self.to);
        self.evidence.series.growth_between(counter, inside, self.to).unwrap_or(0)
    }

    /// Counters of one pattern, by their items, and how much each grew.
    pub(crate) fn each(&self, counters: EachCounter<'a>) -> Vec<(&'a str, u64)> {
        let own = self.evidence.series.each(counters).filter(|(item, _)| !item.contains('.'));
        own.filter_map(|(item, counter)| Some((item, self.growth(counter)?))).collect()
    }

    /// The sum of the growth of all counters of one pattern; none: they were not read.
    pub(crate) fn sum(&self, counters: EachCounter<'_>) -> Option<u64> {
        let grown = self.evidence.series.each(counters);
        let grown = grown.filter_map(|(_, counter)| self.growth(counter));
        let sum = grown.fold(0_u64, u64::saturating_add);
        self.reports(counters.family()).then_some(sum)
    }

    /// How often the host was read during the result.
    pub(crate) fn readings(&self) -> usize {
        (self.to + 1).saturating_sub(self.from)
    }

    /// A gauge during the result.
    pub(crate) fn gauge(&self, gauge: Gauge<'_>) -> &'a [i64] {
        let values = self.evidence.series.gauge(gauge);
        values.get(self.from..=self.to).unwrap_or(values)
    }

    /// Gauges of one pattern, by their items, with their values during the result.
    pub(crate) fn gauges(&self, gauges: EachGauge<'a>) -> Vec<(&'a str, &'a [i64])> {
        let all = self.evidence.series.each_gauge(gauges);
        all.map(|(item, gauge)| (item, self.gauge(gauge))).collect()
    }

    /// Interfaces that carried the test.
    pub(crate) fn interfaces(&self) -> &'a [String] {
        &self.evidence.interfaces
    }

    /// Interfaces that carried the test; of a host that does not report which, all but its
    /// loopback.
    pub(crate) fn carriers(&self) -> Vec<&'a str> {
        let carried = self.interfaces();
        if carried.is_empty() {
            let all = self.evidence.inventory.interfaces.iter();
            let real = all.filter(|one| one.kind.as_deref() != Some("loopback"));
            return real.map(|one| one.name.as_str()).collect();
        }
        carried.iter().map(String::as_str).collect()
    }

    /// What is known of one.
    pub(crate) fn interface(&self, name: &str) -> Option<&'a Interface> {
        self.evidence.inventory.interfaces.iter().find(|one| one.name == name)
    }

    /// The largest size of a socket buffer of TCP in bytes: the third number of
    /// `net.ipv4.tcp_rmem` or `net.ipv4.tcp_wmem` (tcp(7)). None: it is not known.
    pub(crate) fn largest_buffer(&self, name: &str) -> Option<u64> {
        let setting = self.evidence.inventory.settings.get(name)?;
        setting.split_ascii_whitespace().nth(2)?.parse().ok()
    }

    /// A setting of the kernel, where it is a number.
    pub(crate) fn setting(&self, name: &str) -> Option<u64> {
        self.evidence.inventory.settings.get(name)?.trim().parse().ok()
    }
}

/// Whether readings can be placed on the clock of the record.
fn has_known_clock(record: &TestRecord, evidence: &HostEvidence) -> bool {
    let here = record.hosts.iter().find(|host| host.role == Role::Here);
    let boot = &evidence.inventory.boot;
    evidence.role == Role::Here
        || evidence.clock.is_some()
        || (boot.is_some() && here.is_some_and(|here| here.inventory.boot == *boot))
}

/// When on the host's own clock it was `at` on that of the record.
fn on_clock_of(evidence: &HostEvidence, at: Timestamp) -> Timestamp {
    let add = evidence.clock.map_or(0, |clock| clock.add_nanos);
    let nanos = i128::from(at.nanos()) - i128::from(add);
    Timestamp::from_nanos(u64::try_from(nanos.max(0)).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use measurement::ClockOffset;
    use measurement::host::counter;

    use super::*;
    use crate::test_record;

    #[test]
    fn readings_of_another_clock_find_their_place() {
        let mut record = test_record::udp();
        record.base = 2;
        let host = test_record::host(&mut record, &Role::Peer);
        for at in &mut host.series.at {
            *at = Timestamp::from_nanos(at.nanos() + 77_000_000_000);
        }
        host.clock = Some(ClockOffset { add_nanos: -77_000_000_000, error_nanos: 1_000 });
        test_record::grow(host, counter::SOFTNET_DROPPED.on(0), 1_000);
        let host = HostView::from_record(&record, &record.hosts[1]);
        assert_eq!(
            host.growth(counter::SOFTNET_DROPPED.on(0)),
            Some(800),
            "two of ten seconds are omitted"
        );
        assert_eq!(
            host.growth(counter::SOFTNET_DROPPED.on(1)),
            Some(0),
            "read, and did not change"
        );
        assert_eq!(host.growth(counter::driver("eth0").on("dropped")), None);
    }

    #[test]
    fn one_reading_is_no_growth() {
        let mut record = test_record::udp();
        let host = test_record::host(&mut record, &Role::Here);
        host.series.at.truncate(1);
        assert_eq!(
            HostView::from_record(&record, &record.hosts[0]).growth(counter::SOFTNET_DROPPED.on(0)),
            None
        );
    }
}
