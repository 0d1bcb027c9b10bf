//! A record, prepared: its hosts by their roles, each through the window of the result.

use std::collections::HashSet;

use measurement::{Direction, Role, Runtime, TestRecord, Transport};

mod growth;
mod host;
mod pieces;
mod senders;
mod traffic;

pub(crate) use growth::Growth;
pub(crate) use host::HostView;
pub(crate) use pieces::{is_sent_in_pieces, is_taken_in_pieces};
pub(crate) use senders::{receivers, senders};
pub(crate) use traffic::{Flowing, Foreign, Traffic};

/// What a record shows.
pub(crate) struct Evidence<'a> {
    pub(crate) record: &'a TestRecord,
    pub(crate) hosts: Vec<HostView<'a>>,
}

impl<'a> Evidence<'a> {
    /// The evidence of a record.
    pub(crate) fn from_record(record: &'a TestRecord) -> Self {
        let hosts = record.hosts.iter().map(|host| HostView::from_record(record, host));
        Self { record, hosts: hosts.collect() }
    }

    /// The host in a role, if it told.
    pub(crate) fn host(&self, role: &Role) -> Option<&HostView<'a>> {
        self.hosts.iter().find(|host| host.role() == role)
    }

    /// Hosts that ran an end of the test.
    pub(crate) fn ends(&self) -> impl Iterator<Item = &HostView<'a>> {
        self.hosts.iter().filter(|host| !matches!(host.role(), Role::Observed(_)))
    }

    /// Each kernel once: hosts that are namespaces of one share its CPUs and their counters.
    pub(crate) fn kernels(&self) -> impl Iterator<Item = &HostView<'a>> {
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
            Role::Peer => self.record.reported.runtime.as_ref(),
            Role::Observed(_) => None,
        }
    }

    pub(crate) fn is_udp(&self) -> bool {
        self.record.plan.transport == Transport::Udp
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
