//! Raw frames of an interface (packet(7)): received and sent whole.
//!
//! Each frame is preceded by `struct virtio_net_hdr` (`PACKET_VNET_HDR`), which says what
//! segmentation and checksums are still to be done. So GSO packets of up to 64 KiB are not
//! segmented.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};

use socket2::Socket;

use crate::packet_family;

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
        let socket = packet_family::open()?;
        packet_family::turn_on(&socket, libc::PACKET_VNET_HDR)?;
        packet_family::turn_on(&socket, packet_family::PACKET_IGNORE_OUTGOING)?;
        packet_family::set_receive_buffer(&socket, bytes)?;
        packet_family::set_send_buffer(&socket, bytes)?;
        packet_family::bind(&socket, interface, packet_family::ALL_PROTOCOLS)?;
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

/// Length of the longest frame without BIG TCP, in bytes: `virtio_net_hdr`, Ethernet header
/// with a VLAN tag, and 64 KiB.
pub const MAX_FRAME_BYTES: usize = 10 + 18 + 65_536;
const RECEIVE_BUFFER: libc::c_int = 64 << 20;

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
