//! Receives with `TCP_ZEROCOPY_RECEIVE` (`linux/tcp.h`): whole pages of the payload are mapped
//! into memory, and the rest is read.

use std::io::{self, Read};
use std::net::TcpStream;

use linux::tcp::ReceiveMapping;
use measurement::engine::{self, Engine};

use crate::scratch::Scratch;
use crate::shared_resources::SharedResources;
use crate::tcp::{MakeSink, Sink};

/// A [`Sink`] that maps received pages into memory (`TCP_ZEROCOPY_RECEIVE`),
/// which is not read.
#[derive(Debug)]
pub struct ZerocopyReceiveSink(ReceiveMapping);

impl ZerocopyReceiveSink {
    /// A sink that maps about `block` bytes of `socket` at once.
    ///
    /// # Errors
    /// `ENODEV`: sockets of this kernel cannot be mapped; `ENOMEM`: no address space (mmap(2)).
    pub fn new(socket: &TcpStream, block: usize) -> io::Result<Self> {
        Ok(Self(ReceiveMapping::new(socket, block)?))
    }
}

impl MakeSink for ZerocopyReceiveSink {
    fn make(resources: &SharedResources, socket: &TcpStream) -> io::Result<Self> {
        Self::new(socket, resources.block())
    }
}

impl Sink for ZerocopyReceiveSink {
    const ENGINE: &'static Engine = &engine::ZEROCOPY_RECEIVE;

    fn take(&mut self, mut from: &TcpStream, scratch: &mut Scratch) -> io::Result<usize> {
        let mapped = self.0.receive(from)?;
        if mapped.bytes > 0 {
            return Ok(mapped.bytes);
        }
        let room = scratch.buffer();
        let most = if mapped.to_read > 0 { mapped.to_read.min(room.len()) } else { room.len() };
        from.read(&mut room[..most])
    }
}
