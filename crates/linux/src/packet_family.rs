//! Sockets of AF_PACKET (packet(7)) as both [`frame_socket`](crate::frame_socket) and
//! [`packet_socket`](crate::packet_socket) open them.

use std::io;
use std::mem::MaybeUninit;

use socket2::{Domain, Socket, Type};

use crate::option;

/// Opens a socket in the network namespace of the calling thread. Without a protocol it receives
/// nothing before it is bound.
pub(crate) fn open() -> io::Result<Socket> {
    Socket::new(Domain::PACKET, Type::RAW.nonblocking().cloexec(), None)
}

/// Turns on an option of AF_PACKET.
pub(crate) fn turn_on(socket: &Socket, name: libc::c_int) -> io::Result<()> {
    let on: libc::c_int = 1;
    option::set(socket, libc::SOL_PACKET, name, &on)
}

/// Sets the size of the send buffer; without `CAP_NET_ADMIN` it is limited by `wmem_max`.
pub(crate) fn set_send_buffer(socket: &Socket, bytes: libc::c_int) -> io::Result<()> {
    option::set(socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &bytes)
        .or_else(|_| option::set(socket, libc::SOL_SOCKET, libc::SO_SNDBUF, &bytes))
}

/// Sets the size of the receive buffer, for frames that arrive while another thread has the CPU;
/// without `CAP_NET_ADMIN` it is limited by `rmem_max`.
pub(crate) fn set_receive_buffer(socket: &Socket, bytes: libc::c_int) -> io::Result<()> {
    option::set(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &bytes)
        .or_else(|_| option::set(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &bytes))
}

/// Binds a socket to an interface, to receive the frames of a protocol; 0: no frames.
pub(crate) fn bind(socket: &Socket, interface: u32, protocol: u16) -> io::Result<()> {
    // SAFETY: the structure is made of numbers, of which zero is one.
    let mut address: libc::sockaddr_ll = unsafe { MaybeUninit::zeroed().assume_init() };
    address.sll_family = AF_PACKET;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = i32::try_from(interface).map_err(io::Error::other)?;
    option::bind(socket, &address)
}

/// `linux/if_packet.h`, since Linux 4.20.
pub(crate) const PACKET_IGNORE_OUTGOING: libc::c_int = 23;
/// `ETH_P_ALL` of `linux/if_ether.h`.
pub(crate) const ALL_PROTOCOLS: u16 = 3;
#[expect(clippy::cast_possible_truncation, reason = "AF_PACKET is 17")]
const AF_PACKET: u16 = libc::AF_PACKET as u16;
