//! A link of two hosts, and its creation.

use std::os::fd::AsFd;

use linux::namespace::NetworkNamespace;

use crate::addressing::{FAR, NEAR};
use crate::error::LabError;
use crate::host::{Host, open_route};
use crate::link_spec::LinkSpec;

/// A test link: two virtual hosts, joined by a virtual Ethernet pair (veth(4)) and to nothing else.
///
/// The kernel removes the interfaces and both namespaces, a moment after the drop, once no process
/// or socket is left inside.
#[derive(Debug)]
pub struct Link {
    /// The host at the near end.
    pub near: Host,
    /// The host at the far end.
    pub far: Host,
}

impl Link {
    /// Creates two hosts and a link between them. Both ends can reach each other when this returns.
    ///
    /// It needs the rights that [`prepare`](crate::prepare) gets.
    ///
    /// # Errors
    /// [`LabError::BurstBelowFrame`] for a shape that passes no full frame, else the step
    /// that failed.
    pub fn create(spec: &LinkSpec) -> Result<Self, LabError> {
        spec.require_burst_of_a_frame()?;
        let (near, far) = (create_namespace()?, create_namespace()?);
        join(&near, NEAR.interface, &far, FAR.interface)?;
        let mut link = Self { near: Host::new(near, NEAR), far: Host::new(far, FAR) };
        link.near.configure(spec)?;
        link.far.configure(spec)?;
        // Neither end has a carrier before the other is up.
        link.near.finish()?;
        link.far.finish()?;
        Ok(link)
    }
}

pub(crate) fn create_namespace() -> Result<NetworkNamespace, LabError> {
    NetworkNamespace::create().map_err(LabError::CreateNamespace)
}

/// Creates a virtual Ethernet pair between two namespaces, each end with its name.
pub(crate) fn join(
    one: &NetworkNamespace,
    own: &str,
    other: &NetworkNamespace,
    theirs: &str,
) -> Result<(), LabError> {
    open_route(one, own)?.create_veth(own, theirs, other.as_fd()).map_err(|source| {
        LabError::CreateVeth { near: own.to_owned(), far: theirs.to_owned(), source }
    })
}
