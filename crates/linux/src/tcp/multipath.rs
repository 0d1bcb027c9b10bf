//! Multipath TCP (RFC 8684): one connection over several TCP subflows.

use std::io;
use std::mem::offset_of;
use std::net::TcpStream;
use std::os::fd::AsFd;

use socket2::{Domain, Protocol, SockRef, Socket, Type};

use crate::option;

/// A socket that accepts both kinds of client: to those that do not request Multipath TCP
/// it behaves as a plain TCP socket, and so do the connections that it accepts.
pub(super) fn socket_for_all(domain: Domain) -> io::Result<Socket> {
    let make = |protocol| Socket::new(domain, Type::STREAM.nonblocking(), Some(protocol));
    make(Protocol::MPTCP).or_else(|_| make(Protocol::TCP))
}

/// Whether a socket was opened for Multipath TCP (RFC 8684). Its peer may have declined it.
pub fn is_multipath(stream: &TcpStream) -> bool {
    SockRef::from(stream).protocol().is_ok_and(|protocol| protocol == Some(Protocol::MPTCP))
}

/// Bytes that the peer of a Multipath TCP connection has acknowledged, over all subflows
/// (`MPTCP_INFO`, `linux/mptcp.h`).
///
/// # Errors
/// `Unsupported` before Linux 6.5; `EOPNOTSUPP` or `ENOPROTOOPT` if the peer declined
/// Multipath TCP (getsockopt(2)).
pub fn mptcp_bytes_acked(stream: impl AsFd) -> io::Result<u64> {
    // SAFETY: the structure is all numbers, so that zeroes stand for what an older kernel leaves out.
    let (info, length) = unsafe { option::get::<MultipathInfo>(&stream, SOL_MPTCP, MPTCP_INFO)? };
    let told = length > offset_of!(MultipathInfo, bytes_acked);
    if told { Ok(info.bytes_acked) } else { Err(io::ErrorKind::Unsupported.into()) }
}

/// `struct mptcp_info` of `linux/mptcp.h` up to the field that is read here.
#[repr(C)]
#[derive(Clone, Copy)]
struct MultipathInfo {
    /// Six numbers of subflows and addresses, the flags and the token.
    paths: [u8; 16],
    write_seq: u64,
    snd_una: u64,
    rcv_nxt: u64,
    /// Three further bytes, padding, and the number of retransmissions.
    more: [u32; 2],
    bytes_retrans: u64,
    bytes_sent: u64,
    bytes_received: u64,
    bytes_acked: u64,
}

/// `linux/socket.h` and `linux/mptcp.h`.
const SOL_MPTCP: i32 = 284;
const MPTCP_INFO: i32 = 1;

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::Ipv4Addr;

    use super::*;
    use crate::tcp::{TcpOptions, info, listen, start_connect};

    fn pair(multipath: bool) -> io::Result<(TcpStream, TcpStream)> {
        let listener = listen((Ipv4Addr::LOCALHOST, 0).into(), false)?;
        listener.set_nonblocking(false)?;
        let options = TcpOptions { multipath, ..TcpOptions::default() };
        let client = start_connect(listener.local_addr()?, &options)?;
        let (server, _) = listener.accept()?;
        client.set_nonblocking(false)?;
        Ok((client, server))
    }

    fn talk((mut client, mut server): (TcpStream, TcpStream)) -> TcpStream {
        server.set_nonblocking(false).expect("blocks");
        client.write_all(b"hello").expect("written");
        let mut text = [0; 5];
        server.read_exact(&mut text).expect("read");
        assert_eq!(&text, b"hello");
        client
    }

    #[test]
    fn the_listener_takes_plain_connections_as_plain_ones() {
        let (client, server) = pair(false).expect("connected");
        assert!(!is_multipath(&client) && !is_multipath(&server));
        assert!(info(talk((client, server))).is_ok());
    }

    #[test]
    fn the_listener_takes_multipath_connections_or_the_kernel_has_none() {
        match pair(true) {
            Ok((client, server)) => {
                assert!(is_multipath(&client) && is_multipath(&server));
                let client = talk((client, server));
                let all_known = (0..1000).any(|_| {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                    mptcp_bytes_acked(&client).is_err()
                        || mptcp_bytes_acked(&client).ok() == Some(5)
                });
                assert!(all_known);
            }
            Err(error) => {
                eprintln!("this kernel has no Multipath TCP: {error}");
                let known = [libc::EPROTONOSUPPORT, libc::ENOPROTOOPT, libc::EINVAL];
                assert!(error.raw_os_error().is_some_and(|errno| known.contains(&errno)));
            }
        }
    }
}
