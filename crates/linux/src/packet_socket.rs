//! Raw frames of an interface (packet(7)): received and sent whole.
//!
//! Each frame is preceded by `struct virtio_net_hdr` (`PACKET_VNET_HDR`), which says what
//! segmentation and checksums are still to be done. So GSO packets of up to 64 KiB are not
//! segmented.

use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use socket2::{Domain, Socket, Type};

use crate::option;

/// Receives all frames that arrive at one interface, and sends frames through it. Frames
/// that this host sends are not received (`PACKET_IGNORE_OUTGOING`).
#[derive(Debug)]
pub struct PacketSocket(Socket);

impl PacketSocket {
    /// Opens a socket at the interface with this index, in the network namespace of the
    /// calling thread.
    ///
    /// # Errors
    /// `EPERM` without `CAP_NET_RAW`, `ENODEV` if there is no such interface, `ENOPROTOOPT`
    /// before Linux 4.20.
    pub fn open(interface: u32) -> io::Result<Self> {
        Self::with_buffers(interface, RECEIVE_BUFFER)
    }

    /// Opens a socket with buffers of so many bytes, as the kernel counts the memory of frames.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn with_buffers(interface: u32, bytes: i32) -> io::Result<Self> {
        // Without a protocol it receives nothing before it is bound.
        let socket = Socket::new(Domain::PACKET, Type::RAW.nonblocking().cloexec(), None)?;
        let on: libc::c_int = 1;
        option::set(&socket, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &on)?;
        option::set(&socket, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, &on)?;
        make_room(&socket, bytes)?;
        bind(&socket, interface)?;
        Ok(Self(socket))
    }

    /// Receives the next frame, preceded by its `virtio_net_hdr`, into `into`, which has
    /// [`MAX_FRAME_BYTES`]. Returns its length; `None` if no frame is waiting.
    ///
    /// # Errors
    /// `ENETDOWN` if the interface is down (recv(2)).
    pub fn receive(&self, into: &mut [u8]) -> io::Result<Option<usize>> {
        match (&self.0).read(into) {
            Ok(length) => Ok(Some(length)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends a frame that is preceded by its `virtio_net_hdr`.
    ///
    /// # Errors
    /// `EAGAIN` or `ENOBUFS` if there is no room, `ENETDOWN` if the interface is down,
    /// `EINVAL` if the header is malformed (send(2)).
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        self.0.send(frame).map(drop)
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Sets the receive buffer for frames that arrive while another thread has the CPU;
/// without `CAP_NET_ADMIN` it is limited by `rmem_max`.
fn make_room(socket: &Socket, bytes: libc::c_int) -> io::Result<()> {
    option::set(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &bytes)
        .or_else(|_| option::set(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &bytes))?;
    option::set(socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &bytes)
        .or_else(|_| option::set(socket, libc::SOL_SOCKET, libc::SO_SNDBUF, &bytes))
}

fn bind(socket: &Socket, interface: u32) -> io::Result<()> {
    // SAFETY: the structure is made of numbers, of which zero is one.
    let mut address: libc::sockaddr_ll = unsafe { MaybeUninit::zeroed().assume_init() };
    address.sll_family = AF_PACKET;
    address.sll_protocol = ALL_PROTOCOLS.to_be();
    address.sll_ifindex = i32::try_from(interface).map_err(io::Error::other)?;
    // SAFETY: pointer and length describe the address, which the kernel only reads.
    let done = unsafe {
        libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            crate::length_of::<libc::sockaddr_ll>(),
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Length of the longest frame without BIG TCP, in bytes: `virtio_net_hdr`, Ethernet header
/// with a VLAN tag, and 64 KiB.
pub const MAX_FRAME_BYTES: usize = 10 + 18 + 65_536;
const RECEIVE_BUFFER: libc::c_int = 64 << 20;
/// `linux/if_packet.h`, since Linux 4.20.
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;
/// `ETH_P_ALL` of `linux/if_ether.h`.
const ALL_PROTOCOLS: u16 = 3;
#[expect(clippy::cast_possible_truncation, reason = "AF_PACKET is 17")]
const AF_PACKET: u16 = libc::AF_PACKET as u16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_that_is_not_there_is_an_error() {
        let error = PacketSocket::open(u32::from(u16::MAX)).expect_err("no such interface");
        let expected = [libc::ENODEV, libc::ENXIO, libc::EPERM];
        assert!(error.raw_os_error().is_some_and(|code| expected.contains(&code)), "{error}");
    }
}
