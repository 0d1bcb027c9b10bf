//! UDP sockets: creation, options, receiving.

use std::io;
use std::mem::MaybeUninit;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, Type};

use crate::option;

mod batch;
mod group;
mod offload;
mod origin;

pub use batch::{ReceiveBatch, Received, SendBatch};
pub use group::join_group;
pub use offload::{
    MAX_GSO_PAYLOAD, MAX_GSO_SEGMENTS, MAX_GSO_SEGMENTS_SINCE_6_9, check_gso, enable_gro, has_gro,
};
pub use origin::{Origin, enable_packet_info, receive_with_origin};

/// A non-blocking UDP socket bound to `local`. With `shared` further sockets may bind the same
/// address (`SO_REUSEADDR`, socket(7)). With `dual` an IPv6 socket takes IPv4 too.
///
/// # Errors
/// `EADDRINUSE` if the port is in use, `EADDRNOTAVAIL` if the address is not local,
/// `EACCES` for a privileged port.
pub fn bind(local: SocketAddr, shared: bool, dual: bool) -> io::Result<UdpSocket> {
    bind_on(None, local, shared, dual)
}

/// Like [`bind`], restricted to one interface if `device` names one (`SO_BINDTODEVICE`,
/// socket(7)).
///
/// # Errors
/// The errors of [`bind`]; `ENODEV` if there is no such interface.
pub fn bind_on(
    device: Option<&str>,
    local: SocketAddr,
    shared: bool,
    dual: bool,
) -> io::Result<UdpSocket> {
    let socket =
        Socket::new(Domain::for_address(local), Type::DGRAM.nonblocking(), Some(Protocol::UDP))?;
    crate::packets::bind_to_device(&socket, device)?;
    if shared {
        socket.set_reuse_address(true)?;
    }
    if local.is_ipv6() {
        socket.set_only_v6(!dual)?;
    }
    socket.bind(&local.into())?;
    Ok(socket.into())
}

/// Sets both socket buffers to `bytes` (`SO_SNDBUF`, `SO_RCVBUF`). The kernel may grant
/// less (`net.core.rmem_max`, `net.core.wmem_max`): read them back with
/// [`crate::socket_buffers`].
///
/// # Errors
/// The errors of setsockopt(2); none is expected of an open socket.
pub fn set_buffers(socket: &UdpSocket, bytes: usize) -> io::Result<()> {
    let socket = SockRef::from(socket);
    socket.set_send_buffer_size(bytes)?;
    socket.set_recv_buffer_size(bytes)
}

/// Raises the receive buffer to `bytes` as far as `net.core.rmem_max` allows; never lowers
/// it.
///
/// # Errors
/// The errors of setsockopt(2); none is expected of an open socket.
pub fn request_receive_buffer(socket: &UdpSocket, bytes: usize) -> io::Result<()> {
    let socket = SockRef::from(socket);
    if socket.recv_buffer_size()? < bytes {
        socket.set_recv_buffer_size(bytes)?;
    }
    Ok(())
}

/// Sets the receive buffer to the smallest size that the kernel allows, so that hardly
/// anything is queued (`SO_RCVBUF`, socket(7)).
///
/// # Errors
/// The errors of setsockopt(2); none is expected of an open socket.
pub fn minimize_receive_buffer(socket: &UdpSocket) -> io::Result<()> {
    SockRef::from(socket).set_recv_buffer_size(1)
}

/// Sets the Don't Fragment bit of datagrams to IPv4 peers, and forbids fragmentation on
/// this host (`IP_MTU_DISCOVER`, ip(7)).
///
/// # Errors
/// The errors of setsockopt(2); none is expected of an open socket.
pub fn forbid_fragmentation(socket: &UdpSocket) -> io::Result<()> {
    option::set(socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, &libc::IP_PMTUDISC_DO)
}

/// Reports with each datagram the time at which the kernel received it (`SO_TIMESTAMPNS`,
/// socket(7)), by `CLOCK_REALTIME`.
///
/// # Errors
/// The errors of setsockopt(2); none is expected of an open socket.
pub fn enable_timestamps(socket: &UdpSocket) -> io::Result<()> {
    set_flag(socket.as_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS)
}

/// Disables receive time stamps (`SO_TIMESTAMPNS`, socket(7)), which cost CPU time.
///
/// # Errors
/// The errors of setsockopt(2); none is expected of an open socket.
pub fn disable_timestamps(socket: &UdpSocket) -> io::Result<()> {
    option::set(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &0_i32)
}

/// Whether datagrams carry the time at which the kernel received them (`SO_TIMESTAMPNS`).
pub fn has_timestamps(socket: &UdpSocket) -> bool {
    option::number(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS).is_ok_and(|on| on != 0)
}

/// The unspecified address of the family of `like`, with port 0: the kernel chooses the
/// port.
pub fn any_port_of_family(like: SocketAddr) -> SocketAddr {
    let ip: IpAddr = match like {
        SocketAddr::V4(_) => std::net::Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
    };
    (ip, 0).into()
}

fn set_flag(fd: BorrowedFd<'_>, level: i32, name: i32) -> io::Result<()> {
    let on: libc::c_int = 1;
    option::set(&fd, level, name, &on)
}

/// A control message of a received datagram (cmsg(3)).
enum Control {
    Arrival(Duration),
    Destination4(libc::in_pktinfo),
    Destination6(libc::in6_pktinfo),
    /// `UDP_GRO`: length of the datagrams that were coalesced.
    Segment(libc::c_int),
    Other,
}

/// Calls `each` with every control message in `header`.
///
/// # Safety
/// `header` was filled by recvmsg(2) or recvmmsg(2), and its control buffer is alive.
unsafe fn for_each_control(header: &libc::msghdr, mut each: impl FnMut(Control)) {
    // SAFETY: by the caller's promise the kernel wrote a well-formed list of
    // messages, which the CMSG macros walk within `msg_controllen`.
    unsafe {
        let mut message = libc::CMSG_FIRSTHDR(header);
        while !message.is_null() {
            each(decode_control(message));
            message = libc::CMSG_NXTHDR(header, message);
        }
    }
}

/// # Safety
/// `message` points to a whole control message.
unsafe fn decode_control(message: *const libc::cmsghdr) -> Control {
    // SAFETY: by the caller's promise the header is readable, and the kernel gives
    // each of these types a payload of the structure read here; the reads do not
    // ask for alignment.
    unsafe {
        let data = libc::CMSG_DATA(message);
        match ((*message).cmsg_level, (*message).cmsg_type) {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                let time: libc::timespec = data.cast::<libc::timespec>().read_unaligned();
                Control::Arrival(crate::clock::span(&time))
            }
            (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                Control::Destination4(data.cast::<libc::in_pktinfo>().read_unaligned())
            }
            (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                Control::Destination6(data.cast::<libc::in6_pktinfo>().read_unaligned())
            }
            (libc::SOL_UDP, libc::UDP_GRO) => {
                Control::Segment(data.cast::<libc::c_int>().read_unaligned())
            }
            _ => Control::Other,
        }
    }
}

pub(crate) fn empty_header() -> libc::msghdr {
    // SAFETY: null pointers and zero lengths are a valid msghdr.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_that_forbids_fragments_sends_none() {
        let local = "127.0.0.1:0".parse().expect("an address");
        let socket = bind(local, false, false).expect("bound");
        forbid_fragmentation(&socket).expect("set");
        let mode = option::number(&socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER);
        assert_eq!(mode.expect("asked"), libc::IP_PMTUDISC_DO);
    }

    #[test]
    fn a_socket_is_bound_to_the_interface_that_was_asked() {
        let local = "127.0.0.1:0".parse().expect("an address");
        let socket = bind_on(Some("lo"), local, true, false).expect("bound");
        assert_eq!(SockRef::from(&socket).device().expect("asked").as_deref(), Some(&b"lo"[..]));
        let error = bind_on(Some("nowhere0"), local, true, false).expect_err("no such device");
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
    }
}
