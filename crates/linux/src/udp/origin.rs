//! Source and destination of a received datagram (`IP_PKTINFO`, ip(7); `IPV6_RECVPKTINFO`,
//! ipv6(7)).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};

use socket2::{SockAddr, SockRef};

use super::{Control, empty_header, for_each_control, set_flag};

/// Length, source address and local destination address of a received datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Payload bytes that fitted into the buffer.
    pub length: usize,
    /// Address of the sender.
    pub source: SocketAddr,
    /// The local address to which it was sent; `None` if the kernel did not report it.
    pub destination: Option<IpAddr>,
}

/// Makes the kernel report the local destination address of each datagram to
/// [`receive_with_origin`] (`IP_PKTINFO`, ip(7); `IPV6_RECVPKTINFO`, ipv6(7)).
///
/// # Errors
/// The errors of setsockopt(2); none is expected of an open socket.
pub fn enable_packet_info(socket: &UdpSocket) -> io::Result<()> {
    if SockRef::from(socket).domain()? == socket2::Domain::IPV6 {
        set_flag(socket.as_fd(), libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO)
    } else {
        set_flag(socket.as_fd(), libc::IPPROTO_IP, libc::IP_PKTINFO)
    }
}

/// Receives one datagram into `payload` without blocking, with its source and destination address.
/// The destination needs [`enable_packet_info`].
///
/// # Errors
/// `EAGAIN` if none is waiting (recvmsg(2)).
pub fn receive_with_origin(socket: &UdpSocket, payload: &mut [u8]) -> io::Result<Origin> {
    let mut control = [0_u64; 16];
    let mut vector = libc::iovec { iov_base: payload.as_mut_ptr().cast(), iov_len: payload.len() };
    let mut received = 0;
    let mut destination = None;
    // SAFETY: the closure hands the kernel pointers that are valid for the call:
    // the storage for the address is the one it was given with its length, vector
    // and control space live on this stack frame; the control messages are read
    // only if the call succeeded.
    let ((), source) = unsafe {
        SockAddr::try_init(|storage, length| {
            let mut header = empty_header();
            header.msg_name = storage.cast();
            header.msg_namelen = *length;
            header.msg_iov = &raw mut vector;
            header.msg_iovlen = 1;
            header.msg_control = control.as_mut_ptr().cast();
            header.msg_controllen = size_of_val(&control) as _;
            let count = libc::recvmsg(socket.as_raw_fd(), &raw mut header, libc::MSG_DONTWAIT);
            received = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
            *length = header.msg_namelen;
            for_each_control(&header, |control| destination = destination.or(address_of(&control)));
            Ok(())
        })
    }?;
    let source = source.as_socket().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
    Ok(Origin { length: received, source, destination })
}

fn address_of(control: &Control) -> Option<IpAddr> {
    match control {
        Control::Destination4(info) => {
            Some(Ipv4Addr::from(u32::from_be(info.ipi_addr.s_addr)).into())
        }
        Control::Destination6(info) => Some(Ipv6Addr::from(info.ipi6_addr.s6_addr).into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::udp::bind;

    fn round_trip(listen: &str, from: &str, to: &str) -> Origin {
        let server = bind(listen.parse().expect("an address"), true, true).expect("bound");
        enable_packet_info(&server).expect("reports");
        let port = server.local_addr().expect("bound").port();
        let client = UdpSocket::bind(from).expect("bound");
        client.send_to(b"hi", (to, port)).expect("sent");
        let mut payload = [0; 8];
        let origin = receive_with_origin(&server, &mut payload).expect("received");
        assert_eq!(&payload[..origin.length], b"hi");
        assert_eq!(origin.source, client.local_addr().expect("bound"));
        origin
    }

    #[test]
    fn the_destination_of_an_ipv4_datagram_is_known() {
        let origin = round_trip("0.0.0.0:0", "127.0.0.1:0", "127.0.0.2");
        assert_eq!(origin.destination, Some("127.0.0.2".parse().expect("an address")));
    }

    #[test]
    fn nothing_there_is_no_datagram() {
        let server = bind("127.0.0.1:0".parse().expect("an address"), true, false).expect("bound");
        let error = receive_with_origin(&server, &mut [0; 8]).expect_err("empty");
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    }
}
