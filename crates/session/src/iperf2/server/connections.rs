//! The TCP connections of a client: they come, tell the rest of their header, and others are opened to
//! the client.

use std::io::{ErrorKind, Read};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

use linux::poll::{PollFd, wait};
use measurement::outcome::Ending;

use super::failed;
use crate::clock::Clock;
use crate::sockets::{Opened, StreamSocket};

/// The rest of the header, `length` bytes of it, that each of `sockets` sends; that of the first.
///
/// # Errors
/// One does not come.
pub(super) fn rest_of_headers(
    sockets: &[TcpStream],
    length: usize,
    clock: &dyn Clock,
) -> Result<Vec<u8>, Ending> {
    let until = clock.now().after(HEADER_TIME);
    let lacks = |why: &str| failed(&format!("no whole header: {why}"));
    let mut first = None;
    for mut socket in sockets {
        let mut rest = vec![0; length];
        let mut filled = 0;
        while filled < length {
            match socket.read(&mut rest[filled..]) {
                Ok(0) => return Err(lacks("the connection has ended")),
                Ok(read) => filled += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let left = until.since(clock.now());
                    if left.is_zero() {
                        return Err(lacks("nothing was received for long"));
                    }
                    // If it cannot be waited for, the next read says why.
                    _ = wait(&mut [PollFd::readable(socket.as_fd())], Some(left));
                }
                Err(error) => {
                    return Err(lacks(&crate::reason(&error)));
                }
            }
        }
        first.get_or_insert(rest);
    }
    Ok(first.unwrap_or_default())
}

/// The streams on which this end receives, of each of which so many bytes were `read`.
pub(super) fn receiving(sockets: Vec<TcpStream>, read: u64) -> Vec<Opened> {
    let stream = |(id, socket)| {
        let socket = StreamSocket::tcp(socket, 0).with_read_before(read);
        Opened { id, sender: false, socket }
    };
    (1..).zip(sockets).map(stream).collect()
}

/// The streams on which this end sends, numbered after the `received` ones.
pub(super) fn sending(sockets: Vec<TcpStream>, received: u32) -> Vec<Opened> {
    let stream = |(id, socket)| Opened { id, sender: true, socket: StreamSocket::tcp(socket, 0) };
    (received + 1..).zip(sockets).map(stream).collect()
}

/// The same connections again: each direction has a descriptor of its own for the kernel's readiness,
/// which tells one of two.
///
/// # Errors
/// There are no more descriptors.
pub(super) fn again(sockets: &[TcpStream]) -> Result<Vec<TcpStream>, Ending> {
    let again: std::io::Result<_> = sockets.iter().map(TcpStream::try_clone).collect();
    again.map_err(|error| failed(&crate::reason(&error)))
}

/// So many connections to that port of the client.
///
/// # Errors
/// The client does not take one.
pub(super) fn connect(to: SocketAddr, count: u32) -> Result<Vec<TcpStream>, Ending> {
    let one = |_| {
        let socket = TcpStream::connect_timeout(&to, CONNECT_TIME)?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    };
    let sockets: std::io::Result<_> = (0..count).map(one).collect();
    sockets.map_err(|error| failed(&format!("cannot connect to {to}: {}", crate::reason(&error))))
}

/// Ends connections for whose end their client waits.
pub(super) fn end(opened: &[Opened]) {
    for one in opened {
        if let StreamSocket::Tcp { socket, .. } = &one.socket {
            // One that is gone has ended already.
            _ = socket.shutdown(Shutdown::Both);
        }
    }
}

/// Within which a client sends its header.
const HEADER_TIME: Duration = Duration::from_secs(5);
const CONNECT_TIME: Duration = Duration::from_secs(5);
