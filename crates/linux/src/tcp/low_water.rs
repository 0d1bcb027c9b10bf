//! Low-water marks of a socket: how much must have come, or be left to send, before it is ready.

use std::io;
use std::net::TcpStream;

use crate::option;

/// Lets the socket become readable only when so many bytes have arrived, when its window is nearly
/// used up, or when its peer has closed (`SO_RCVLOWAT`, socket(7)). The kernel takes at most half
/// of the receive buffer, and enlarges the buffer if it is not fixed by `SO_RCVBUF`.
///
/// # Errors
/// `ENOPROTOOPT` or `EOPNOTSUPP` for Multipath TCP on older kernels; none else is expected.
pub fn set_receive_low_water(stream: &TcpStream, bytes: u32) -> io::Result<()> {
    option::set(stream, libc::SOL_SOCKET, libc::SO_RCVLOWAT, &number(bytes))
}

/// Lets the socket take no more payload than about so many bytes that it has not sent yet, and
/// become writable when half of them are gone (`TCP_NOTSENT_LOWAT`, tcp(7)). What is on its way
/// does not count.
///
/// # Errors
/// `ENOPROTOOPT` before Linux 3.12, `EOPNOTSUPP` for Multipath TCP on older kernels.
pub fn set_unsent_low_water(stream: &TcpStream, bytes: u32) -> io::Result<()> {
    option::set(stream, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, &number(bytes))
}

fn number(bytes: u32) -> libc::c_int {
    libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX)
}
