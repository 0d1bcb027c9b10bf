//! What rules look at: hosts, and the test that they ran, if they did.

use std::time::Duration;

use measurement::{Attribution, BitRate, HostEvidence, RateSearch, RateSearchEnd, Role, Transport};

use crate::accounts::{Flow, Test};
use crate::evidence::HostView;

mod blame;
pub(crate) mod cpu;
mod device;
pub(crate) mod frames;
mod interrupts;
mod placement;
pub(crate) mod shaping;

pub(crate) use blame::{Blame, missing, sent};
pub(crate) use cpu::Load;
pub(crate) use device::{Device, Offload};
pub(crate) use placement::Misplaced;

/// What rules look at.
pub(crate) struct Case<'a> {
    /// Each host, through the window of the result; without a test all that was read.
    pub(crate) hosts: Vec<HostView<'a>>,
    /// The test; none: only hosts were looked at.
    pub(crate) test: Option<&'a Test<'a>>,
    /// Where CPU time of the hosts went that told.
    pub(crate) attributions: &'a [Attribution],
    /// The test at the rate that a search held, where this one is a trial above it.
    held: Option<&'a Case<'a>>,
}

impl<'a> Case<'a> {
    /// Of a test.
    pub(crate) fn of_test(test: &'a Test<'a>, attributions: &'a [Attribution]) -> Self {
        Self { hosts: test.hosts.clone(), test: Some(test), attributions, held: None }
    }

    /// Of hosts that ran none.
    pub(crate) fn of_hosts(hosts: &'a [HostEvidence], attributions: &'a [Attribution]) -> Self {
        let hosts = hosts.iter().map(HostView::alone).collect();
        Self { hosts, test: None, attributions, held: None }
    }

    /// The same, as a trial above the rate that a search held in another test.
    pub(crate) fn above(self, held: &'a Case<'a>) -> Self {
        Self { held: Some(held), ..self }
    }

    /// The test at the rate that a search held, if its sender offered as much as here, or nearly.
    pub(crate) fn held_with_as_much(&self) -> Option<&'a Case<'a>> {
        let held = self.held?;
        let offered = |case: &Case<'_>| {
            let outcomes = case.flows().iter().map(|flow| flow.outcome.offered);
            outcomes.map(|one| Some(one?.rate.bits_per_second() as f64)).sum::<Option<f64>>()
        };
        (offered(self)? <= offered(held)? * NEARLY_AS_MUCH).then_some(held)
    }

    /// The host in a role, if it told.
    pub(crate) fn host(&self, role: &Role) -> Option<&HostView<'a>> {
        self.hosts.iter().find(|host| host.role() == role)
    }

    /// Directions of the test; none without one.
    pub(crate) fn flows(&self) -> &[Flow<'a>] {
        self.test.map_or(&[], |test| &test.flows)
    }

    /// Where the CPU time of a host went, if it told.
    pub(crate) fn attribution(&self, role: &Role) -> Option<&'a Attribution> {
        self.attributions.iter().find(|one| one.host == *role)
    }

    /// Directions in which something is missing: at a rate that was asked what did not arrive
    /// of it; as much as goes always could be more.
    pub(crate) fn wanting(&self) -> impl Iterator<Item = &Flow<'a>> {
        self.flows().iter().filter(|flow| flow.outcome.asked.is_none() || !flow.is_kept())
    }

    /// The search that found the rate of the test; none: its rate was requested, or is unlimited.
    pub(crate) fn search(&self) -> Option<&'a RateSearch> {
        self.test?.record.trials.rate.as_ref()
    }

    /// The rate held without loss, where this test at a higher rate shows what limits.
    pub(crate) fn held_below(&self) -> Option<BitRate> {
        let search = self.search().filter(|search| search.end == RateSearchEnd::Loss)?;
        let is_above = self.test?.record.plan.asked()? > search.held;
        (is_above && search.floor.is_none()).then_some(search.held)
    }

    /// Whether that end is `host`, or another namespace of its kernel.
    pub(crate) fn is_of(&self, role: &Role, host: &HostView<'_>) -> bool {
        host.role() == role || self.host(role).is_some_and(|one| one.is_same_kernel(host))
    }

    /// How long the result was measured; none without a test.
    pub(crate) fn result_span(&self) -> Option<Duration> {
        self.test?.record.result_span()
    }

    /// Whether a test of datagrams was run.
    pub(crate) fn is_udp(&self) -> bool {
        self.test.is_some_and(|test| test.record.plan.transport == Transport::Udp)
    }

    /// Payload bytes of each datagram of the test; none: it was no test of datagrams.
    pub(crate) fn datagram(&self) -> Option<u64> {
        let record = self.test.filter(|_| self.is_udp())?.record;
        Some(record.streams.first().map_or(u64::MAX, |stream| stream.block.bytes()))
    }

    /// Whether a test of TCP was run.
    pub(crate) fn is_tcp(&self) -> bool {
        self.test.is_some_and(|test| test.record.plan.transport == Transport::Tcp)
    }

    /// Whether the test has one stream.
    pub(crate) fn is_one_stream(&self) -> bool {
        self.test.is_some_and(|test| test.record.streams.len() == 1)
    }
}

/// So much more takes a CPU hardly more time.
const NEARLY_AS_MUCH: f64 = 1.05;
