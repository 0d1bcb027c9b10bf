//! Sends datagrams with send(2): one per call, as most programs do.

use std::io;
use std::net::UdpSocket;

use linux::udp::SendBatch;
use measurement::engine::{self, Engine};

use crate::udp::SendMethod;

/// A [`SendMethod`] by send(2): one datagram per call, as most programs do.
#[derive(Clone, Copy, Debug, Default)]
pub struct SendCall;

impl SendMethod for SendCall {
    const ENGINE: &'static Engine = &engine::SEND;
    const MOST: usize = 1;

    fn open(_: &UdpSocket, _: usize) -> io::Result<Self> {
        Ok(Self)
    }

    fn send(&mut self, batch: &mut SendBatch, to: &UdpSocket, _: usize) -> io::Result<usize> {
        to.send(batch.payload_mut(0)).map(|_| 1)
    }
}
