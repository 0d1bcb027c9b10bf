//! Receives datagrams with recvmmsg(2) and `UDP_GRO` (udp(7)): a message holds the datagrams that
//! the kernel coalesced into one packet.

use std::io;
use std::net::UdpSocket;

use linux::udp::{ReceiveBatch, Received};
use measurement::engine::{self, Engine};

use crate::udp::{ReceiveMethod, Recvmmsg};

/// A [`ReceiveMethod`] by recvmmsg(2) with GRO: each message holds the
/// datagrams that the kernel coalesced into one packet (`UDP_GRO`, udp(7)).
#[derive(Clone, Copy, Debug)]
pub struct Gro(Recvmmsg);

impl ReceiveMethod for Gro {
    const ENGINE: &'static Engine = &engine::GRO;

    fn open(socket: &UdpSocket, _: usize) -> io::Result<Self> {
        linux::udp::enable_gro(socket)?;
        Ok(Self(Recvmmsg))
    }

    fn receive(&mut self, from: &UdpSocket, room: &mut ReceiveBatch) -> io::Result<usize> {
        self.0.receive(from, room)
    }

    fn get<'a>(&'a self, room: &'a ReceiveBatch, index: usize) -> Received<'a> {
        self.0.get(room, index)
    }
}
