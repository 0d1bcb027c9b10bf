//! Whether this process may make links, and the way there.

use linux::namespace::{enter_user_namespace, may_administrate_network, try_in_fork};
use linux::netlink::RouteSocket;

use crate::error::{LabError, chain};
use crate::host::{LOOPBACK, set_up};
use crate::link::{Link, LinkSpec};

/// What the system permits this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// It has the capabilities, and its network is what it was.
    Privileged,
    /// It is now inside a user namespace, in a network with loopback alone.
    UserNamespace,
    /// It cannot make links, and its network is what it was.
    Forbidden {
        /// What was tried, what the system answered and what would help.
        reason: String,
    },
}

/// Gives the process the right to make links, if the system lets it.
///
/// Must be called before the process starts its first thread, since only then
/// it may enter a user namespace; a privileged process may call it at any time.
///
/// An unprivileged process leaves the network of the host for good: from then
/// on it sees a loopback interface and its links, which is what a demonstration
/// wants and a measurement does not. Some systems permit user namespaces and
/// forbid what they are for, hence everything is tried first, up to a link that
/// works, in a copy of the process. [`Access::Forbidden`] leaves the process as
/// it was, free to fall back to loopback.
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
