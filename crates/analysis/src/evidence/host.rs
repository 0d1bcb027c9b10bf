//! One host of a test, seen through the window of the result.

use std::time::Duration;

use measurement::host::Interface;
use measurement::{HostEvidence, Role, TestRecord, Timestamp};

/// A host, and which of its readings belong to the result.
#[derive(Clone)]
pub(crate) struct Host<'a> {
    pub(crate) evidence: &'a HostEvidence,
    /// The last reading before the result begins.
    from: usize,
    /// The first reading after that.
    inside: usize,
    /// The first reading after its end.
    to: usize,
}

impl<'a> Host<'a> {
    /// The host `evidence` of `record`.
    pub(crate) fn of(record: &TestRecord, evidence: &'a HostEvidence) -> Self {
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
    pub(crate) fn tells(&self, family: &str) -> bool {
        self.to > self.from && self.evidence.series.families.contains(family)
    }

    /// How much a counter grew, at most, during the result.
    pub(crate) fn growth(&self, name: &str) -> Option<u64> {
        let is_span = self.to > self.from;
        is_span.then(|| self.evidence.series.growth_between(name, self.from, self.to)).flatten()
    }

    /// How much it grew at least.
    pub(crate) fn growth_inside(&self, name: &str) -> u64 {
        let inside = self.inside.min(self.to);
        self.evidence.series.growth_between(name, inside, self.to).unwrap_or(0)
    }

    /// Counters `prefix.*.suffix`, by what stands in between, and how much they grew.
    pub(crate) fn each(&self, prefix: &'a str, suffix: &'a str) -> Vec<(&'a str, u64)> {
        let all = self.evidence.series.each(prefix, suffix);
        let own = all.filter(|(between, _)| !between.contains('.'));
        own.filter_map(|(between, name)| Some((between, self.growth(name)?))).collect()
    }

    /// The sum over those.
    pub(crate) fn sum(&self, prefix: &str, suffix: &str) -> Option<u64> {
        let grown = self.evidence.series.each(prefix, suffix);
        let grown = grown.filter_map(|(_, name)| self.growth(name));
        let sum = grown.fold(0_u64, u64::saturating_add);
        self.tells(measurement::host::family(prefix)).then_some(sum)
    }

    /// A gauge during the result.
    pub(crate) fn gauge(&self, name: &str) -> &'a [i64] {
        let values = self.evidence.series.gauge(name);
        values.get(self.from..=self.to).unwrap_or(values)
    }

    /// Gauges `prefix.*.suffix`: what stands in between, and the values.
    pub(crate) fn gauges(&self, prefix: &str, suffix: &str) -> Vec<(&'a str, &'a [i64])> {
        let named = |name: &'a String| {
            let rest = name.strip_prefix(prefix)?.strip_prefix('.')?;
            Some((rest.strip_suffix(suffix)?.strip_suffix('.')?, self.gauge(name)))
        };
        self.evidence.series.gauges.keys().filter_map(named).collect()
    }

    /// Interfaces that carried the test.
    pub(crate) fn interfaces(&self) -> &'a [String] {
        &self.evidence.interfaces
    }

    /// What is known of one.
    pub(crate) fn interface(&self, name: &str) -> Option<&'a Interface> {
        self.evidence.inventory.interfaces.iter().find(|one| one.name == name)
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

    use super::*;
    use crate::scene;

    #[test]
    fn readings_of_another_clock_find_their_place() {
        let mut record = scene::udp();
        record.base = 2;
        let host = scene::host(&mut record, &Role::Peer);
        for at in &mut host.series.at {
            *at = Timestamp::from_nanos(at.nanos() + 77_000_000_000);
        }
        host.clock = Some(ClockOffset { add_nanos: -77_000_000_000, error_nanos: 1_000 });
        scene::grow(host, "softnet.0.dropped", 1_000);
        let host = Host::of(&record, &record.hosts[1]);
        assert_eq!(host.growth("softnet.0.dropped"), Some(800), "two of ten seconds are omitted");
        assert_eq!(host.growth("softnet.1.dropped"), Some(0), "read, and did not change");
        assert_eq!(host.growth("nothing.0.dropped"), None);
    }

    #[test]
    fn one_reading_is_no_growth() {
        let mut record = scene::udp();
        let host = scene::host(&mut record, &Role::Here);
        host.series.at.truncate(1);
        assert_eq!(Host::of(&record, &record.hosts[0]).growth("softnet.0.dropped"), None);
    }
}
