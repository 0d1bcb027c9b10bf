//! Sends datagrams with io_uring(7): a chain of linked sends, submitted with one call.

use std::io;
use std::net::UdpSocket;

use linux::udp::SendBatch;
use linux::uring::DatagramSendRing;
use measurement::engine::{self, Engine};

use crate::udp::SendMethod;

/// A [`SendMethod`] that sends a batch of datagrams as one chain of
/// requests of an io_uring(7).
pub struct UringSend(DatagramSendRing);

impl SendMethod for UringSend {
    const ENGINE: &'static Engine = &engine::URING_SEND;
    const MOST: usize = CHAIN;

    fn open(_: &UdpSocket, _: usize) -> io::Result<Self> {
        Ok(Self(DatagramSendRing::new(CHAIN)?))
    }

    fn send(&mut self, batch: &mut SendBatch, to: &UdpSocket, count: usize) -> io::Result<usize> {
        self.0.send(batch, to, count)
    }
}

/// Datagrams of a chain: as many as the engine `sendmmsg` sends with one call.
const CHAIN: usize = 64;
