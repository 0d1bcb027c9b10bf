//! What a server reports of the tests that it served.

use std::net::SocketAddr;

use measurement::outcome::{DirectionOutcome, Ending};
use measurement::record::{Neighbour, StreamRecord};
use measurement::{Peer, TestPlan};
use serde::Serialize;

use super::metrics::Refusal;
use crate::observer::Observer;

/// A test as the server saw it.
#[derive(Clone, Debug, Serialize)]
pub struct Served {
    /// The client.
    pub peer: Peer,
    /// What it asked for; none: it did not get that far.
    pub plan: Option<TestPlan>,
    /// How it ended.
    pub ending: Ending,
    /// Why the client was not served, or no longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
    /// Payload bytes that this end received, the omitted start included.
    pub received: u64,
    /// Payload bytes that this end sent.
    pub sent: u64,
    /// Its streams, every setting read back; empty: it did not get that far.
    pub streams: Vec<StreamRecord>,
    /// What it came to.
    pub directions: Vec<DirectionOutcome>,
    /// Requests that were answered; none: the test asks none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered: Option<u64>,
    /// Other tests of the server meanwhile.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<Neighbour>,
}

impl Served {
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
            directions: Vec::new(),
            answered: None,
            shared: Vec::new(),
        }
    }
}

/// Receives what the server does. Called from several threads.
pub trait Log: Send + Sync {
    /// It listens.
    fn listening(&self, address: SocketAddr);
    /// A test begins.
    fn began(&self, peer: &Peer, plan: &TestPlan);
    /// A test ended.
    fn ended(&self, served: &Served);
    /// A client was sent away before it came to a test.
    fn refused(&self, client: SocketAddr, why: Refusal);
    /// The server was asked to stop, and waits for so many tests.
    fn stopping(&self, _tests: usize) {}
    /// The observer of one test; called on the thread that runs it.
    fn observer(&self) -> Box<dyn Observer> {
        Box::new(())
    }
}
