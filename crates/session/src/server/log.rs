//! What a server reports of the tests that it served.

use std::net::SocketAddr;

use measurement::outcome::{DirectionOutcome, Ending};
use measurement::record::{Neighbour, StreamRecord};
use measurement::{Peer, TestPlan};
use portable_atomic::Ordering::Relaxed;
use serde::Serialize;

use super::metrics::{Refusal, ServerMetrics};
use super::sums::Sums;
use crate::observer::Observer;

/// The log entry of a server for a test that ended, or for a client that was refused.
#[derive(Clone, Debug, Serialize)]
pub struct Served {
    /// Address and software of the client.
    pub peer: Peer,
    /// Plan that the client requested; none: the connection ended before.
    pub plan: Option<TestPlan>,
    /// How the test ended.
    pub ending: Ending,
    /// Reason for which the client or test was refused; none: it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
    /// Payload bytes that the server received, including the omitted start.
    pub received: u64,
    /// Payload bytes that the server sent.
    pub sent: u64,
    /// Streams with their settings in effect; empty: no streams were opened.
    pub streams: Vec<StreamRecord>,
    /// Payload bytes that each of `streams` carried; empty: only their sum is told.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub carried: Vec<u64>,
    /// Result of each direction, as the server knows it.
    pub directions: Vec<DirectionOutcome>,
    /// Number of answered requests; none: the test is not an exchange of requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered: Option<u64>,
    /// Datagrams that arrived at this host and were dropped, as the receive buffers of the sockets were
    /// full (`SO_MEMINFO`, `linux/sock_diag.h`).
    #[serde(skip_serializing_if = "is_zero")]
    pub dropped: u64,
    /// Concurrent tests on the server.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<Neighbour>,
}

impl Served {
    /// Counts it: what it moved, and how it ended. One that was refused before it was let in is counted by
    /// its reason.
    pub(crate) fn count(&self, metrics: &ServerMetrics, was_let_in: bool) {
        let place = if was_let_in { &metrics.running } else { &metrics.waiting };
        place.fetch_sub(1, Relaxed);
        metrics.received.fetch_add(self.received, Relaxed);
        metrics.sent.fetch_add(self.sent, Relaxed);
        match self.ending {
            Ending::Completed => {
                metrics.completed.fetch_add(1, Relaxed);
                if let Some(plan) = &self.plan {
                    metrics.keep(self.peer.address.ip(), plan.transport, &self.directions);
                }
            }
            Ending::Interrupted => _ = metrics.interrupted.fetch_add(1, Relaxed),
            Ending::Failed { .. } if self.refusal.is_some() && !was_let_in => {}
            Ending::Failed { .. } => _ = metrics.failed.fetch_add(1, Relaxed),
        }
    }

    /// A test that came to `sums`, whose client was not refused.
    pub(crate) fn of((peer, plan): (Peer, TestPlan), ending: Ending, sums: Sums) -> Self {
        Self {
            peer,
            plan: Some(plan),
            ending,
            refusal: None,
            received: sums.received,
            sent: sums.sent,
            streams: sums.streams,
            carried: Vec::new(),
            directions: sums.directions,
            answered: sums.answered,
            dropped: sums.dropped,
            shared: Vec::new(),
        }
    }

    /// A client that did not get as far as a test.
    pub(crate) const fn nothing(peer: Peer, ending: Ending, why: Refusal) -> Self {
        Self {
            peer,
            plan: None,
            ending,
            refusal: Some(why),
            received: 0,
            sent: 0,
            streams: Vec::new(),
            carried: Vec::new(),
            directions: Vec::new(),
            answered: None,
            dropped: 0,
            shared: Vec::new(),
        }
    }
}

#[cfg_attr(
    target_pointer_width = "64",
    expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands in a reference")
)]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Receiver of the events of a server, e.g. a log file. Methods are called from several threads.
pub trait Log: Send + Sync {
    /// The server listens on `address`.
    fn listening(&self, address: SocketAddr);
    /// A test starts.
    fn began(&self, peer: &Peer, plan: &TestPlan);
    /// A test ended.
    fn ended(&self, served: &Served);
    /// A client was refused before it requested a test.
    fn refused(&self, client: SocketAddr, why: Refusal);
    /// The server is being stopped, and waits for the running tests.
    fn stopping(&self, _tests: usize) {}
    /// Something of this host's settings was changed or asked for by `client`, which has the key, or
    /// was refused; none: it is about no client.
    fn tuning(&self, _client: Option<SocketAddr>, _what: &str) {}
    /// A connection for tuning was ended, as it did not prove the key.
    fn tuning_refused(&self, _client: Option<SocketAddr>, _why: &str) {}
    /// The observer of one test, called on the thread that runs it.
    fn observer(&self) -> Box<dyn Observer> {
        Box::new(())
    }
}
