//! Membership of multicast groups (RFC 3678, section 5.1: the same calls for IPv4 and IPv6).

use std::io;
use std::mem::MaybeUninit;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use socket2::SockAddr;

use crate::netlink::RouteSocket;
use crate::option;

/// Joins a multicast group on an interface, by name; none: as the routes say. With a `source` only that
/// sender is heard (RFC 4607). Does nothing if `group` is the address of one host.
///
/// # Errors
/// `ENODEV` if there is no such interface, or no route to the group; `EINVAL` if group and source are
/// not of one family; else those of `MCAST_JOIN_GROUP` and `MCAST_JOIN_SOURCE_GROUP` (ip(7)).
pub fn join_group(
    socket: &UdpSocket,
    group: IpAddr,
    device: Option<&str>,
    source: Option<IpAddr>,
) -> io::Result<()> {
    if !group.is_multicast() {
        return Ok(());
    }
    let interface = device.map_or(Ok(0), |name| RouteSocket::open()?.interface_index(name))?;
    let level = if group.is_ipv4() { libc::IPPROTO_IP } else { libc::IPPROTO_IPV6 };
    let joining = Joining { interface, padding: Padding::default(), group: storage(group) };
    match source {
        None => option::set(socket, level, libc::MCAST_JOIN_GROUP, &joining),
        Some(source) => {
            let request = JoiningSource { joining, source: storage(source) };
            option::set(socket, level, libc::MCAST_JOIN_SOURCE_GROUP, &request)
        }
    }
}

/// `struct group_req` of linux/in.h.
#[derive(Clone, Copy)]
#[repr(C)]
struct Joining {
    interface: u32,
    /// As much as the alignment of an address leaves free.
    padding: Padding,
    group: libc::sockaddr_storage,
}

/// `struct group_source_req` of linux/in.h.
#[derive(Clone, Copy)]
#[repr(C)]
struct JoiningSource {
    joining: Joining,
    source: libc::sockaddr_storage,
}

#[cfg(target_pointer_width = "64")]
type Padding = u32;
#[cfg(target_pointer_width = "32")]
type Padding = ();

fn storage(address: IpAddr) -> libc::sockaddr_storage {
    let address = SockAddr::from(SocketAddr::new(address, 0));
    let mut storage = MaybeUninit::<libc::sockaddr_storage>::zeroed();
    // SAFETY: both are valid for the length of the address, which fits the storage, and a storage of
    // zeros is valid.
    unsafe {
        let length = address.len() as usize;
        address.as_ptr().cast::<u8>().copy_to_nonoverlapping(storage.as_mut_ptr().cast(), length);
        storage.assume_init()
    }
}
