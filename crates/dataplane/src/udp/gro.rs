//! The same from a socket that gives in one piece what came in one piece.

use std::io;
use std::net::UdpSocket;

use linux::udp::{ReceiveBatch, Received};
use measurement::engine::{self, Engine};

use crate::udp::{ReceiveMethod, Recvmmsg};

/// Datagrams of one piece are received together.
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
