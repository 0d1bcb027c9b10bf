//! Sends datagrams with sendmsg(2) and `UDP_SEGMENT` (udp(7)): many as one packet, which the
//! kernel or the network card segments as late as possible.

use std::io;
use std::net::UdpSocket;

use linux::udp::SendBatch;
use measurement::engine::{self, Engine};

use crate::udp::SendMethod;

/// A [`SendMethod`] by GSO: packets of as many datagrams as the kernel
/// takes, which it segments later (`UDP_SEGMENT`, udp(7)).
#[derive(Clone, Copy, Debug, Default)]
pub struct Gso;

impl SendMethod for Gso {
    const ENGINE: &'static Engine = &engine::GSO;

    fn open(socket: &UdpSocket, length: usize) -> io::Result<Self> {
        if crate::segments(length) == 1 {
            return Err(io::Error::other("a GSO packet would hold only one such datagram"));
        }
        linux::udp::check_gso(socket, length)?;
        Ok(Self)
    }

    fn send(&mut self, batch: &mut SendBatch, to: &UdpSocket, count: usize) -> io::Result<usize> {
        batch.send_gso(to, count)
    }
}
