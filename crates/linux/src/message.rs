//! Small messages on connected sockets (recv(2), send(2)).
//!
//! The calls are no cancellation points (pthreads(7)), as those of the C library are: that takes
//! two atomic operations for each in a process of several threads, which none of its threads uses.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Receives bytes of a stream into `room`. Returns how many; zero: the peer has closed it.
///
/// # Errors
/// `EAGAIN` if none are waiting, or none came in time (`SO_RCVTIMEO`); `ECONNRESET` (recv(2)).
pub fn receive(socket: &impl AsFd, room: &mut [u8]) -> io::Result<usize> {
    receive_with(socket, room, 0)
}

/// Receives a datagram into `room`. Returns its full length, which may be more than `room` holds
/// (`MSG_TRUNC`, udp(7)).
///
/// # Errors
/// `EAGAIN` if none is waiting, or none came in time (`SO_RCVTIMEO`), `ECONNREFUSED` if the peer's
/// port is closed (recv(2)).
pub fn receive_datagram(socket: &impl AsFd, room: &mut [u8]) -> io::Result<usize> {
    receive_with(socket, room, libc::MSG_TRUNC)
}

/// Sends `bytes`, or as many of them as a stream has room for; returns how many.
///
/// # Errors
/// `EAGAIN` if there is no room, or none in time (`SO_SNDTIMEO`); `EPIPE`, `ECONNRESET` (send(2)).
pub fn send(socket: &impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    let fd = socket.as_fd().as_raw_fd();
    let nobody = std::ptr::null::<libc::sockaddr>();
    let no_length: libc::socklen_t = 0;
    // SAFETY: pointer and length describe `bytes`; the socket is connected, no address is given.
    let length = unsafe {
        let (bytes, length, flags) = (bytes.as_ptr(), bytes.len(), libc::MSG_NOSIGNAL);
        libc::syscall(libc::SYS_sendto, fd, bytes, length, flags, nobody, no_length)
    };
    usize::try_from(length).map_err(|_| io::Error::last_os_error())
}

fn receive_with(socket: &impl AsFd, room: &mut [u8], flags: libc::c_int) -> io::Result<usize> {
    let fd = socket.as_fd().as_raw_fd();
    let nobody = std::ptr::null_mut::<libc::sockaddr>();
    let no_length = std::ptr::null_mut::<libc::socklen_t>();
    // SAFETY: pointer and length describe `room`; no address is asked for.
    let length = unsafe {
        let (room, length) = (room.as_mut_ptr(), room.len());
        libc::syscall(libc::SYS_recvfrom, fd, room, length, flags, nobody, no_length)
    };
    usize::try_from(length).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};

    use super::*;

    #[test]
    fn bytes_of_a_stream_arrive_and_its_end_is_zero() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bound");
        let near = TcpStream::connect(listener.local_addr().expect("bound")).expect("connected");
        let (far, _) = listener.accept().expect("connected");
        let mut room = [0; 8];
        far.set_nonblocking(true).expect("set");
        let none = receive(&far, &mut room).expect_err("nothing was sent");
        assert_eq!(none.kind(), io::ErrorKind::WouldBlock);
        far.set_nonblocking(false).expect("set");
        assert_eq!(send(&near, b"four").expect("sent"), 4);
        assert_eq!(receive(&far, &mut room).expect("arrived"), 4);
        assert_eq!(&room[..4], b"four");
        drop(near);
        assert_eq!(receive(&far, &mut room).expect("closed"), 0);
    }

    #[test]
    fn the_length_of_a_datagram_is_told_whole() {
        let [near, far] =
            [(); 2].map(|()| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("bound"));
        near.connect(far.local_addr().expect("bound")).expect("connected");
        assert_eq!(send(&near, &[7; 100]).expect("sent"), 100);
        let mut room = [0; 8];
        assert_eq!(receive_datagram(&far, &mut room).expect("arrived"), 100);
        assert_eq!(room, [7; 8]);
    }
}
