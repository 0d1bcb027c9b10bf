//! Sends datagrams with sendmsg(2) and `UDP_SEGMENT`: many in one piece, which is cut as
//! late as possible.

use std::io;
use std::net::UdpSocket;

use linux::udp::SendBatch;
use measurement::engine::{self, Engine};

use crate::udp::SendMethod;

/// The datagrams of a batch take their way through the kernel together.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gso;

impl SendMethod for Gso {
    const ENGINE: &'static Engine = &engine::GSO;

    fn open(socket: &UdpSocket, length: usize) -> io::Result<Self> {
        if crate::segments(length) == 1 {
            return Err(io::Error::other("a piece would hold but one such datagram"));
        }
        linux::udp::check_gso(socket, length)?;
        Ok(Self)
    }

    fn send(&mut self, batch: &mut SendBatch, to: &UdpSocket, count: usize) -> io::Result<usize> {
        batch.send_gso(to, count)
    }
}
