//! Before a test may open its streams: its part of the rates of the server, and what its client
//! hears of limits.

use std::time::Duration;

use measurement::BitRate;
use protocol::iperf3::Announcement;

use super::{Conversation, Stage};
use crate::server::limits::{Excess, Limits, RateLimit};
use crate::server::metrics::Refusal;

impl Conversation<'_> {
    /// Whether the client hears of limits and keeps to them (clause 13.21).
    pub(super) fn is_told_of_limits(&self) -> bool {
        let announcement = self.parameters.announcement.as_ref().map(Announcement::shared);
        !self.limits.are_strict && announcement.is_some_and(|known| known.knows_limits())
    }

    /// Takes the test's part of the rates of the server, tells the client of it, and changes the
    /// plan to it; whether the test may go on.
    pub(super) fn keeps_within_limits(&mut self) -> bool {
        let Stage::Waiting(waiting) = &mut self.stage else { return true };
        if std::mem::replace(&mut waiting.is_limited, true) {
            return true;
        }
        if !self.takes_its_part() {
            return false;
        }
        let plan = &self.parameters.plan;
        let told = self.limits.told();
        let is_told = self.is_told_of_limits();
        if is_told {
            self.control.machine.limit(told);
        }
        // A client that hears of no limit is not to hear of a shorter test either; what this end
        // sends to it keeps to the rate.
        let applied = told.applied(plan);
        if is_told {
            self.parameters.plan = applied;
        } else if !self.limits.are_strict
            && plan.direction.receives()
            && applied.options != plan.options
        {
            let mut draft = measurement::plan::PlanDraft::clone(plan);
            draft.options.rate = applied.options.rate;
            self.parameters.plan = draft.check().unwrap_or_else(|_| plan.clone());
        }
        true
    }

    /// Takes the test's part of the rates of the server; false: it is refused.
    fn takes_its_part(&mut self) -> bool {
        let plan = &self.parameters.plan;
        if plan.exchange.is_some_and(|exchange| exchange.is_probe()) {
            return true;
        }
        let streams = u64::from(plan.streams_in_all());
        let asked = [plan.options.rate, plan.options.socket_rate].into_iter().flatten().min();
        let asked = asked.map(|rate| rate.times(streams));
        let of_test = self.limits.rate.map(|limit| limit.most);
        let wanted = [asked, of_test].into_iter().flatten().min();
        let Ok(grant) = self.server.rates.grant(self.peer.address.ip(), wanted) else {
            self.server.metrics.refuse(Refusal::TotalRate);
            self.control.machine.deny();
            self.refusal = Some((Refusal::TotalRate, Refusal::TotalRate.to_string()));
            return false;
        };
        let Some(grant) = grant else { return true };
        let rate = grant.rate();
        self.grant = Some(grant);
        if asked.is_some_and(|asked| asked > rate) && !self.is_told_of_limits() {
            self.refuse_for(Excess::rate(rate));
            return false;
        }
        let window = self.limits.rate.map_or(WINDOW, |limit| limit.window);
        self.limits.rate = Some(RateLimit { most: rate, window });
        true
    }

    /// The limits that the test is held to while it runs: one that is paced to its rate may exceed
    /// it by a batch, and by what is made up for.
    pub(super) fn watched_limits(&self) -> Limits {
        let with_slack = |limit: RateLimit| {
            let bits = limit.most.bits_per_second();
            let most = BitRate::from_bits_per_second(bits.saturating_add(bits / SLACK));
            RateLimit { most, ..limit }
        };
        let is_told = self.is_told_of_limits();
        let rate = self.limits.rate.map(|limit| if is_told { with_slack(limit) } else { limit });
        Limits { rate, ..self.limits }
    }
}

/// The part of the rate by which a test may exceed it.
const SLACK: u64 = 10;
/// Over which the rate of a test is averaged.
const WINDOW: Duration = Duration::from_secs(5);
