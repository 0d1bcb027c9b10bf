//! Receives datagrams with io_uring(7): one multishot request receives all of them, into buffers
//! of the ring.

use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsFd, BorrowedFd};

use linux::udp::{ReceiveBatch, Received};
use linux::uring::DatagramReceiveRing;
use measurement::engine::{self, Engine};

use crate::udp::ReceiveMethod;

/// A [`ReceiveMethod`] that receives into the provided buffers of an
/// io_uring(7).
pub struct UringReceive(DatagramReceiveRing);

impl ReceiveMethod for UringReceive {
    const ENGINE: &'static Engine = &engine::URING_RECEIVE;

    fn open(_: &UdpSocket, length: usize) -> io::Result<Self> {
        Ok(Self(DatagramReceiveRing::new(length)?))
    }

    fn receive(&mut self, from: &UdpSocket, _: &mut ReceiveBatch) -> io::Result<usize> {
        self.0.receive(from)
    }

    fn get<'a>(&'a self, _: &'a ReceiveBatch, index: usize) -> Received<'a> {
        self.0.get(index)
    }

    fn ring(&self) -> Option<BorrowedFd<'_>> {
        Some(self.0.as_fd())
    }
}
