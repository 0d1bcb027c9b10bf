//! Sends datagrams with sendmmsg(2): many in one call, each as a packet of its own.

use std::io;
use std::net::UdpSocket;

use linux::udp::SendBatch;
use measurement::engine::{self, Engine};

use crate::udp::SendMethod;

/// A [`SendMethod`] by sendmmsg(2): a batch of datagrams per call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sendmmsg;

impl SendMethod for Sendmmsg {
    const ENGINE: &'static Engine = &engine::SENDMMSG;

    fn open(_: &UdpSocket, _: usize) -> io::Result<Self> {
        Ok(Self)
    }

    fn send(&mut self, batch: &mut SendBatch, to: &UdpSocket, count: usize) -> io::Result<usize> {
        batch.send(to, count)
    }
}
