//! XDP features of the driver of an interface, from the family `netdev` of generic netlink
//! (Documentation/netlink/specs/netdev.yaml, Linux 6.3).

use std::io;

use super::generic::Family;
use super::message::{attribute, u64_at};

/// Whether the driver of the interface of this index takes the frames that programs of XDP redirect to
/// it. That may depend on a program at it: at a veth(4) on one at its other end.
///
/// # Errors
/// `ENOENT` before Linux 6.3; `ENODEV` if there is no such interface.
pub fn takes_redirected_frames(index: u32) -> io::Result<bool> {
    let answer = Family::open("netdev")?.ask(NETDEV_CMD_DEV_GET, |request| {
        request.attribute(NETDEV_A_DEV_IFINDEX, &index.to_ne_bytes())
    })?;
    let features =
        attribute(&answer, NETDEV_A_DEV_XDP_FEATURES).and_then(|bytes| u64_at(bytes, 0..8));
    Ok(features.ok_or(io::ErrorKind::InvalidData)? & NETDEV_XDP_ACT_NDO_XMIT != 0)
}

// linux/netdev.h
const NETDEV_CMD_DEV_GET: u8 = 1;
const NETDEV_A_DEV_IFINDEX: u16 = 1;
const NETDEV_A_DEV_XDP_FEATURES: u16 = 3;
const NETDEV_XDP_ACT_NDO_XMIT: u64 = 1 << 2;
