//! Under which circumstances one end runs a test: what its host and its user decide, and not
//! what the ends agreed on.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use dataplane::udp::Iperf2Flow;
use host::PerfAccess;
use linux::tcp::TcpOptions;
use protocol::iperf2::{Bounce, WriteMarks};

use crate::host_sampler::Interest;
use crate::measured::Side;

/// Under which circumstances a test runs.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    /// Which end this is.
    pub(crate) side: Side,
    /// Workers are pinned to these CPUs; empty: anywhere that the process may run.
    pub(crate) pinned: Vec<usize>,
    /// Round-trip time of the control connection.
    pub(crate) rtt: Duration,
    /// Which amounts the peer can receive.
    pub(crate) amounts: Amounts,
    /// What becomes of a test whose engines cannot be used.
    pub(crate) fallback: FallbackPolicy,
    /// Intervals are sampled for an observer.
    pub(crate) watched: bool,
    /// Payload comes from this file, or goes to it.
    pub(crate) file: Option<PathBuf>,
    /// Where requests with a connection each go, or come.
    pub(crate) calls: Option<Calls>,
    /// What a test has only with a peer that speaks iperf2.
    pub(crate) iperf2: Iperf2Parts,
    /// Which interfaces are sampled meanwhile; none: this host is not sampled.
    pub(crate) sampled: Option<Interest>,
    /// From where the CPUs are sampled then; none: they are not.
    pub(crate) perf: Option<Arc<PerfAccess>>,
}

/// What a test has only with a peer that speaks iperf2.
#[derive(Clone, Debug, Default)]
pub(crate) struct Iperf2Parts {
    /// What begins each block that is sent over TCP; none: it is payload alone.
    pub(crate) marks: Option<WriteMarks>,
    /// Each request; none: bytes of the payload.
    pub(crate) message: Option<Arc<[u8]>>,
    /// How requests are answered that a client sends; none: as the exchange of the plan says.
    pub(crate) bounce: Option<Bounce>,
    /// The flows that are received, one on each stream; none: datagrams are those of iperf3.
    pub(crate) flows: Vec<Arc<Iperf2Flow>>,
}

impl Setting {
    /// The CPUs on which the workers run: those that were named, or any that the process may run on.
    ///
    /// # Errors
    /// Those of sched_getaffinity(2).
    pub(crate) fn cpus(&self) -> io::Result<Vec<usize>> {
        if self.pinned.is_empty() {
            return linux::host::allowed_cpus();
        }
        Ok(self.pinned.clone())
    }
}

/// The port for connections that bear one request each.
#[derive(Clone, Debug)]
pub(crate) enum Calls {
    /// The server's, and what is set on each connection.
    To(SocketAddr, TcpOptions),
    /// The listener of this server for connections of requests.
    At(Arc<TcpListener>),
}

/// Which amounts a receiver can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Amounts {
    /// Whole blocks only: a plain iperf3 waits for the rest of one for ever (clause 10.2).
    WholeBlocks,
    /// Any number of bytes.
    Any,
    /// Any, of which each stream has the same part: iperf2.
    OfEach,
}

/// What becomes of a test whose engines cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FallbackPolicy {
    /// It fails: the user of this end named them.
    Fail,
    /// Other engines are used, and the record says so: the client requested them, or they are
    /// defaults.
    Substitute,
}
