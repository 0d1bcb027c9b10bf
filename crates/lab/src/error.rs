//! Errors of creating a link.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use thiserror::Error;

/// Why a test link could not be created or used. The cause is the error's source.
#[derive(Debug, Error)]
pub enum LabError {
    /// The process could not enter a user namespace.
    #[error(
        "failed to enter a user namespace (run as root, or permit them: \
         user.max_user_namespaces, user.max_net_namespaces, kernel.apparmor_restrict_unprivileged_userns)"
    )]
    EnterUserNamespace(#[source] io::Error),

    /// The system permits user namespaces only in part.
    #[error("failed to make a link in a user namespace")]
    Rehearse(#[source] io::Error),

    /// The kernel refused a new network namespace.
    #[error(
        "failed to create a network namespace (needs CAP_SYS_ADMIN, CONFIG_NET_NS and room below \
         user.max_net_namespaces)"
    )]
    CreateNamespace(#[source] io::Error),

    /// A thread could not be started or could not enter the namespace.
    #[error("failed to enter the network namespace of {interface}")]
    EnterNamespace {
        /// The interface in that namespace.
        interface: String,
        /// The cause.
        source: io::Error,
    },

    /// A netlink socket could not be opened.
    #[error("failed to open a NETLINK_ROUTE socket (a seccomp filter may forbid it)")]
    OpenNetlink(#[source] io::Error),

    /// The pair of interfaces could not be created.
    #[error(
        "failed to create the veth pair {near} - {far} (needs CAP_NET_ADMIN and CONFIG_VETH, \
         module veth)"
    )]
    CreateVeth {
        /// The interface of the near end.
        near: String,
        /// The interface of the far end.
        far: String,
        /// The cause.
        source: io::Error,
    },

    /// The relay failed.
    #[error("failed to relay frames (needs CAP_NET_RAW and CONFIG_PACKET, Linux 4.20)")]
    Relay(#[source] io::Error),

    /// A device under test could not be set up.
    #[error("failed to set up a device that forwards (some need root, or the program nft)")]
    Device(#[source] io::Error),

    /// An address could not be added.
    #[error("failed to add the address {address} to {interface}")]
    AddAddress {
        /// The address.
        address: IpAddr,
        /// The interface.
        interface: String,
        /// The cause.
        source: io::Error,
    },

    /// IP forwarding or the default route through the router could not be set up.
    #[error("failed to route by {via} (needs CAP_NET_ADMIN and a writable /proc/sys/net)")]
    EnableRouting {
        /// The router's address.
        via: IpAddr,
        /// The cause.
        source: io::Error,
    },

    /// The MTU could not be set.
    #[error("failed to set the MTU of {interface} to {mtu} bytes (veth takes 68 to 65535)")]
    SetMtu {
        /// The MTU in bytes.
        mtu: u32,
        /// The interface.
        interface: String,
        /// The cause.
        source: io::Error,
    },

    /// An interface could not be set up.
    #[error("failed to set {interface} up")]
    SetUp {
        /// The interface.
        interface: String,
        /// The cause.
        source: io::Error,
    },

    /// The token bucket filter could not be installed.
    #[error("failed to shape {interface} (needs CONFIG_NET_SCH_TBF, module sch_tbf)")]
    Shape {
        /// The interface.
        interface: String,
        /// The cause.
        source: io::Error,
    },

    /// The burst is smaller than a frame, so that every full frame would be dropped.
    #[error(
        "failed to shape the link: a burst of {burst_bytes} bytes is less than a frame of \
         {frame_bytes} bytes (raise the burst or lower the MTU)"
    )]
    BurstBelowFrame {
        /// The burst asked for, in bytes.
        burst_bytes: u32,
        /// MTU and Ethernet header, in bytes.
        frame_bytes: u32,
    },

    /// The state of an interface could not be read.
    #[error("failed to read the state of {interface}")]
    Inspect {
        /// The interface.
        interface: String,
        /// The cause.
        source: io::Error,
    },

    /// The interface exists but does not become operational.
    #[error("failed to bring {interface} into operation within {waited:?}")]
    NotOperational {
        /// The interface.
        interface: String,
        /// How long the kernel was given.
        waited: Duration,
    },
}

/// An error and its causes in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_names_the_failure_then_the_cause() {
        let error =
            LabError::SetUp { interface: "lo".to_owned(), source: io::Error::other("no reason") };
        assert_eq!(chain(&error), "failed to set lo up: no reason");
    }
}
