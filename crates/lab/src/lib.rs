//! Test links on one machine: two hosts in network namespaces, joined by virtual Ethernet.
//!
//! A [`Link`] is a pair of network namespaces with a virtual Ethernet pair
//! between them, addressed, and shaped on request. Neither privileges nor any
//! program but this one are needed where the system permits user namespaces;
//! [`prepare`] finds that out.
//!
//! ```no_run
//! use linerate_lab::{Access, Link, LinkSpec, Rate, Shape};
//!
//! if let Access::Forbidden { reason } = linerate_lab::prepare() {
//!     eprintln!("no link on this system: {reason}");
//! }
//! let shape = Rate::from_bits_per_second(100_000_000).map(Shape::with_rate);
//! let link = Link::create(&LinkSpec { shape, ..LinkSpec::default() })?;
//! let status = link.near.command("ping").arg(link.far.ipv4().to_string()).status();
//! # Ok::<(), linerate_lab::LabError>(())
//! ```
//!
//! A [`Routed`] has a router between the two hosts; a [`Relayed`] a relay that delays, loses,
//! reorders, duplicates and limits frames; a [`Device`] is a forwarder between two ports of a tester.
//!
//! It changes only namespaces that it made (invariant C), and they end with the
//! handles to them. It does not measure: a shaped link is the known quantity
//! that a measurement is checked against.

#![forbid(unsafe_code)]

mod access;
mod addressing;
mod device;
mod error;
mod host;
mod link;
mod link_spec;
mod relay;
mod relayed;
mod routed;
mod shape;
mod slow;

pub use access::{Access, prepare};
pub use addressing::{
    FAR_IPV4, FAR_IPV6, FAR_LINK_LOCAL, IPV4_PREFIX_LENGTH, IPV6_PREFIX_LENGTH, NEAR_IPV4,
    NEAR_IPV6, NEAR_LINK_LOCAL,
};
pub use device::{DEVICE_A, DEVICE_B, Device, DeviceKind, PORT_A, PORT_B};
pub use error::LabError;
pub use host::Host;
pub use link::Link;
pub use link_spec::LinkSpec;
pub use relay::{Delivery, DeliveryCurve, Impairment, RelayCounters};
pub use relayed::Relayed;
pub use routed::Routed;
pub use shape::{Rate, Shape};
