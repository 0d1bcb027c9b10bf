//! A record as rules look at it: its hosts by their roles, the window of the result, and
//! what each direction shows.

use std::collections::HashSet;

use measurement::{
    Direction, DirectionAccount, DirectionOutcome, Role, Runtime, TestRecord, Transport,
};

use crate::words::is_short;

mod host;
mod senders;
mod traffic;
pub(crate) mod turned_away;
mod workers;

pub(crate) use host::Host;
pub(crate) use senders::senders;
pub(crate) use traffic::{Flowing, Foreign, Traffic};
pub(crate) use workers::{AT_ITS_LIMIT, run_delay, worker_at_its_limit};

/// A record, prepared for rules.
pub(crate) struct Evidence<'a> {
    pub(crate) record: &'a TestRecord,
    pub(crate) hosts: Vec<Host<'a>>,
    /// Each direction, in the order of the outcome's.
    pub(crate) flows: Vec<Flow<'a>>,
}

/// One direction: what it came to, and what it shows.
pub(crate) struct Flow<'a> {
    pub(crate) outcome: &'a DirectionOutcome,
    pub(crate) account: DirectionAccount,
}

impl<'a> Evidence<'a> {
    /// Of `record`.
    pub(crate) fn of(record: &'a TestRecord) -> Self {
        let hosts: Vec<_> = record.hosts.iter().map(|host| Host::of(record, host)).collect();
        let flows = record.outcome.directions.iter();
        let flows = flows.map(|outcome| {
            let account = crate::accounts::of(record, &hosts, outcome);
            Flow { outcome, account }
        });
        let flows = flows.collect();
        Self { record, hosts, flows }
    }

    /// The host in a role, if it told.
    pub(crate) fn host(&self, role: &Role) -> Option<&Host<'a>> {
        self.hosts.iter().find(|host| host.role() == role)
    }

    /// Hosts that ran an end of the test.
    pub(crate) fn ends(&self) -> impl Iterator<Item = &Host<'a>> {
        self.hosts.iter().filter(|host| !matches!(host.role(), Role::Observed(_)))
    }

    /// Each kernel once: hosts that are namespaces of one share its CPUs and their counters.
    pub(crate) fn kernels(&self) -> impl Iterator<Item = &Host<'a>> {
        let is_first = |index: usize| {
            let earlier = &self.hosts[..index];
            !earlier.iter().any(|other| other.is_same_kernel(&self.hosts[index]))
        };
        (0..self.hosts.len()).filter(move |index| is_first(*index)).map(|index| &self.hosts[index])
    }

    /// What the workers of an end did, if it told.
    pub(crate) fn runtime(&self, role: &Role) -> Option<&'a Runtime> {
        match role {
            Role::Here => self.record.runtime.as_ref(),
            Role::Peer => self.record.peer_runtime.as_ref(),
            Role::Observed(_) => None,
        }
    }

    pub(crate) fn is_udp(&self) -> bool {
        self.record.plan.transport == Transport::Udp
    }

    /// Every direction kept the rate that was asked, lost nothing, and no times were taken:
    /// what a host had to do beside that did it no harm.
    pub(crate) fn is_at_ease(&self) -> bool {
        self.record.outcome.latency.is_none()
            && !self.flows.is_empty()
            && self.flows.iter().all(|flow| flow.outcome.asked.is_some() && flow.is_kept())
    }

    /// What a sentence on one of two directions begins with.
    pub(crate) fn prefix(&self, flow: &Flow<'_>) -> String {
        let both = self.record.plan.direction == Direction::Both;
        if both { format!("{}: ", flow.outcome.direction) } else { String::new() }
    }
}

impl Flow<'_> {
    /// Who sends.
    pub(crate) fn sender(&self) -> Role {
        sender(self.outcome.direction)
    }

    /// Who receives.
    pub(crate) fn receiver(&self) -> Role {
        receiver(self.outcome.direction)
    }

    /// The rate asked was sent, and arrived; as much as goes always is.
    pub(crate) fn is_kept(&self) -> bool {
        let outcome = self.outcome;
        let is_sent = match (outcome.asked, outcome.offered) {
            (Some(asked), Some(offered)) => {
                !is_short(offered.rate.bits_per_second(), asked.bits_per_second())
            }
            _ => true,
        };
        let is_lost = outcome.offered.zip(outcome.delivered).is_some_and(|(sent, got)| {
            is_short(got.bytes, sent.bytes) || outcome.datagrams.is_some_and(|all| all.lost > 0)
        });
        is_sent && !is_lost
    }
}

/// Ids of the streams on which this end sends, or of the others; of tens of thousands.
pub(crate) fn streams(record: &TestRecord, sender: bool) -> HashSet<u32> {
    let own = record.streams.iter().filter(|stream| stream.sender == sender);
    own.map(|stream| stream.id).collect()
}

/// Records are written by clients, who send on their [`Direction::Send`].
pub(crate) const fn sender(direction: Direction) -> Role {
    match direction {
        Direction::Send | Direction::Both => Role::Here,
        Direction::Receive => Role::Peer,
    }
}

/// The other end.
pub(crate) const fn receiver(direction: Direction) -> Role {
    match direction {
        Direction::Send | Direction::Both => Role::Peer,
        Direction::Receive => Role::Here,
    }
}
