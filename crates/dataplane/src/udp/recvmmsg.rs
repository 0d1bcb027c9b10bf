//! Receives datagrams with recvmmsg(2): many in one call, each on its own or, as the socket
//! gives them, many in one piece (`UDP_GRO`, udp(7)).

use std::io;
use std::net::UdpSocket;

use linux::udp::{ReceiveBatch, Received};
use measurement::engine::{self, Engine};

use crate::udp::ReceiveMethod;

/// Each datagram is received on its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recvmmsg;

impl ReceiveMethod for Recvmmsg {
    const ENGINE: &'static Engine = &engine::RECVMMSG;

    fn open(_: &UdpSocket, _: usize) -> io::Result<Self> {
        Ok(Self)
    }

    fn receive(&mut self, from: &UdpSocket, room: &mut ReceiveBatch) -> io::Result<usize> {
        room.receive(from)
    }

    fn get<'a>(&'a self, room: &'a ReceiveBatch, index: usize) -> Received<'a> {
        room.get(index)
    }
}
