//! Two hosts with a relay between them, which has no address.

use std::io;

use linux::namespace::NetworkNamespace;
use linux::netlink::RouteSocket;
use linux::packet_socket::PacketSocket;

use crate::addressing::{FAR, NEAR};
use crate::error::LabError;
use crate::host::{Host, open_route, set_up};
use crate::link::{create_namespace, join};
use crate::link_spec::LinkSpec;
use crate::relay::{Impairment, Relay, RelayCounters};

/// Two hosts, joined by a relay that applies an [`Impairment`] to each direction.
///
/// The kernel removes everything once the handles are gone, as with a
/// [`Link`](crate::Link).
#[derive(Debug)]
pub struct Relayed {
    /// The host at the near end.
    pub near: Host,
    /// The host at the far end.
    pub far: Host,
    relay: Relay,
    /// Holds the interfaces of the relay.
    _middle: NetworkNamespace,
}

impl Relayed {
    /// Creates two hosts and a relay between them. `forward` applies to frames from the near end to
    /// the far one, `back` to the other direction. The same `seed` makes the same random decisions.
    ///
    /// It needs the rights that [`prepare`](crate::prepare) gets, and `CAP_NET_RAW`.
    ///
    /// # Errors
    /// [`LabError::Relay`] if the relay cannot start, else the step that failed.
    pub fn create(
        spec: &LinkSpec,
        forward: Impairment,
        back: Impairment,
        seed: u64,
    ) -> Result<Self, LabError> {
        spec.require_burst_of_a_frame()?;
        let (near, middle, far) = (create_namespace()?, create_namespace()?, create_namespace()?);
        join(&near, NEAR.interface, &middle, LEFT)?;
        join(&far, FAR.interface, &middle, RIGHT)?;
        let mut near = Host::new(near, NEAR);
        let mut far = Host::new(far, FAR);
        let relay = start(&middle, spec, &[forward, back], seed)?;
        near.configure(spec)?;
        far.configure(spec)?;
        near.finish()?;
        far.finish()?;
        Ok(Self { near, far, relay, _middle: middle })
    }

    /// Stops the relay; returns its counters of frames from the near end, then of those from the
    /// far end.
    ///
    /// # Errors
    /// [`LabError::Relay`] if the relay failed or panicked.
    pub fn stop(&mut self) -> Result<[RelayCounters; 2], LabError> {
        self.relay.stop().map_err(LabError::Relay)
    }
}

fn start(
    middle: &NetworkNamespace,
    spec: &LinkSpec,
    impairments: &[Impairment; 2],
    seed: u64,
) -> Result<Relay, LabError> {
    let mut route = open_route(middle, LEFT)?;
    let mut indices = [0; 2];
    for (interface, index) in [LEFT, RIGHT].into_iter().zip(&mut indices) {
        *index = prepared(&mut route, interface, spec)?;
    }
    let ends = middle
        .run(|| -> io::Result<_> {
            Ok([PacketSocket::open(indices[0])?, PacketSocket::open(indices[1])?])
        })
        .map_err(|source| LabError::EnterNamespace { interface: LEFT.to_owned(), source })?;
    let relay = ends.and_then(|ends| Relay::start(ends, impairments, seed));
    relay.map_err(LabError::Relay)
}

/// Sets up an interface of the relay, with the MTU of the hosts; returns its index.
fn prepared(route: &mut RouteSocket, interface: &str, spec: &LinkSpec) -> Result<u32, LabError> {
    if let Some(mtu) = spec.mtu {
        let refused = |source| LabError::SetMtu { mtu, interface: interface.to_owned(), source };
        route.set_mtu(interface, mtu).map_err(refused)?;
    }
    set_up(route, interface)?;
    route
        .interface_index(interface)
        .map_err(|source| LabError::Inspect { interface: interface.to_owned(), source })
}

const LEFT: &str = "left0";
const RIGHT: &str = "right0";
