//! Receives datagrams with recvmmsg(2): many in one call. If `UDP_GRO` is set on the socket
//! (udp(7)), each message may hold several datagrams.

use std::io;
use std::net::UdpSocket;

use linux::udp::{ReceiveBatch, Received};
use measurement::engine::{self, Engine};

use crate::udp::ReceiveMethod;

/// A [`ReceiveMethod`] by recvmmsg(2): a batch of datagrams per call,
/// each as a message of its own.
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
