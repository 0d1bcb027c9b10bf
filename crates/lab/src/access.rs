//! Whether this process may create links, and how it gets that right.

use linux::namespace::{enter_user_namespace, may_administrate_network, try_in_fork};
use linux::netlink::RouteSocket;

use crate::error::{LabError, chain};
use crate::host::{LOOPBACK, set_up};
use crate::link::Link;
use crate::link_spec::LinkSpec;

/// Whether this process may create network namespaces and links, and how it got that right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// The process has the capabilities; its network namespace is unchanged.
    Privileged,
    /// The process has entered a user namespace, and a network namespace with only loopback.
    UserNamespace,
    /// The process cannot create links; its network namespace is unchanged.
    Forbidden {
        /// The failed attempt, the error of the system and a remedy.
        reason: String,
    },
}

/// Gives the process the right to create network namespaces and links, if the system permits it.
///
/// It must be called before the process starts its first thread, since only then can it enter a
/// user namespace; a privileged process may call it at any time.
///
/// An unprivileged process leaves the network namespace of the host for good: from then on it sees
/// a loopback interface and its links, which suits a demonstration and not a measurement. Some
/// systems permit user namespaces but not their use. Hence everything is first tried in a forked
/// copy, up to a working link. After [`Access::Forbidden`] the process is unchanged and can fall
/// back to loopback.
#[must_use = "links can be made only if access is not forbidden"]
pub fn prepare() -> Access {
    let attempt = if may_administrate_network() {
        try_link().map(|()| Access::Privileged)
    } else {
        enter().map(|()| Access::UserNamespace)
    };
    attempt.unwrap_or_else(|error| Access::Forbidden { reason: chain(&error) })
}

fn enter() -> Result<(), LabError> {
    let dress_rehearsal = || enter_for_good().and_then(|()| try_link());
    try_in_fork(|| dress_rehearsal().map_err(|error| chain(&error))).map_err(LabError::Rehearse)?;
    enter_for_good()
}

fn enter_for_good() -> Result<(), LabError> {
    enter_user_namespace().map_err(LabError::EnterUserNamespace)?;
    let mut route = RouteSocket::open().map_err(LabError::OpenNetlink)?;
    set_up(&mut route, LOOPBACK)
}

fn try_link() -> Result<(), LabError> {
    Link::create(&LinkSpec::default()).map(drop)
}
