//! What all tests of a server have in common.

use std::net::SocketAddr;
use std::sync::Arc;

use super::concurrent_tests::ConcurrentTests;
use super::metrics::ServerMetrics;
use super::options::SessionOptions;
use super::proved::ProvedAddresses;
use super::rates::RateShares;
use super::registry::Registry;
use super::status::StatusBoard;
use super::stay::Yielding;
use crate::clock::Clock;

/// What all tests of a server have in common.
#[derive(Clone)]
pub(crate) struct ServerContext {
    /// Where the server listens.
    pub(crate) address: SocketAddr,
    pub(crate) options: SessionOptions,
    /// Which tests make room for others.
    pub(crate) yielding: Yielding,
    pub(crate) registry: Arc<Registry>,
    pub(crate) concurrent: Arc<ConcurrentTests>,
    /// Addresses to which datagrams may be sent that a datagram asks for.
    pub(crate) proved: Arc<ProvedAddresses>,
    /// What is granted of the rates that all tests may have together.
    pub(crate) rates: Arc<RateShares>,
    pub(crate) metrics: Arc<ServerMetrics>,
    /// The tests, as they are listed.
    pub(crate) status: Arc<StatusBoard>,
    pub(crate) clock: Arc<dyn Clock>,
}

/// An IPv4 address as such, also if it came by a socket for both.
pub(crate) fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}
