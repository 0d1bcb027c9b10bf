//! UDP flows of iperf2 clients: each has a thread and a socket of its own, as long as it has a place.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

use protocol::iperf2::FlowStart;

use super::flow::{Flow, FlowRun};
use super::places::FlowPlaces;
use crate::server::access::AccessList;
use crate::server::context::ServerContext;
use crate::server::log::Log;

/// The UDP flows of a server.
pub(crate) struct Flows {
    places: FlowPlaces,
    access: AccessList,
    is_open: bool,
    server: ServerContext,
    log: Arc<dyn Log>,
}

impl Flows {
    /// None yet, and no more than `most`. `has_key`: clients have to prove a key, which iperf2 cannot.
    pub(crate) fn new(
        server: &ServerContext,
        (access, has_key): (AccessList, bool),
        most: usize,
        log: Arc<dyn Log>,
    ) -> Self {
        let is_open = !has_key && server.options.gate.is_none() && server.rates.is_unlimited();
        Self { places: FlowPlaces::new(most), access, is_open, server: server.clone(), log }
    }

    /// Begins a flow at its first datagram; none: it is none, or there is no place for it.
    pub(crate) fn begin(&self, datagram: &[u8], source: SocketAddr) -> Option<Flow> {
        if !self.is_open || !self.access.admits(source.ip()) {
            return None;
        }
        let now = self.server.clock.now();
        let start = FlowStart::recognise(datagram)?;
        let (place, early) = self.places.take(source, now)?;
        self.places.pass(datagram, source);
        Some(Flow { start, began: now, length: datagram.len(), early, place })
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.places.are_free()
    }

    /// Passes on a datagram that came to another socket than its flow's; whether it has a flow.
    pub(crate) fn pass(&self, datagram: &[u8], source: SocketAddr) -> bool {
        self.places.pass(datagram, source)
    }

    /// Receives the flow on a `socket` of its own.
    pub(crate) fn run(&self, flow: Flow, socket: UdpSocket) {
        let (server, log) = (self.server.clone(), Arc::clone(&self.log));
        let work = move || {
            if let Some(run) = FlowRun::new(flow, socket, &server) {
                run.serve(&*log);
            }
        };
        let thread = std::thread::Builder::new().name("session".to_owned());
        // Without a thread there is no flow; the client's next datagram is the next attempt.
        _ = thread.stack_size(linux::process::STACK_BYTES).spawn(work);
    }
}
