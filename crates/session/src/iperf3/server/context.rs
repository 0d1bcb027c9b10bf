//! What all tests of a server have in common.

use std::net::SocketAddr;
use std::sync::Arc;

use super::registry::Registry;
use crate::clock::Clock;
use crate::server::concurrent_tests::ConcurrentTests;
use crate::server::metrics::ServerMetrics;
use crate::server::options::SessionOptions;
use crate::server::rates::RateShares;
use crate::server::status::StatusBoard;
use crate::server::stay::Yielding;

/// What all tests of a server have in common.
#[derive(Clone)]
pub(super) struct ServerContext {
    /// Where the server listens.
    pub(super) address: SocketAddr,
    pub(super) options: SessionOptions,
    /// Which tests make room for others.
    pub(super) yielding: Yielding,
    pub(super) registry: Arc<Registry>,
    pub(super) concurrent: Arc<ConcurrentTests>,
    /// What is granted of the rates that all tests may have together.
    pub(super) rates: Arc<RateShares>,
    pub(super) metrics: Arc<ServerMetrics>,
    /// The tests, as they are listed.
    pub(super) status: Arc<StatusBoard>,
    pub(super) clock: Arc<dyn Clock>,
}

/// An IPv4 address as such, also if it came by a socket for both.
pub(super) fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}
