//! Receives with `TCP_ZEROCOPY_RECEIVE`: whole pages of what came are mapped, and the rest
//! is read.

use std::io::{self, Read};
use std::net::TcpStream;

use linux::tcp::ReceiveMapping;
use measurement::engine::{self, Engine};

use crate::scratch::Scratch;
use crate::shared_resources::SharedResources;
use crate::tcp::{MakeSink, Sink};

/// A window of memory onto what came, which is not looked at.
#[derive(Debug)]
pub struct ZerocopyReceiveSink(ReceiveMapping);

impl ZerocopyReceiveSink {
    /// Maps about `block` bytes of `socket` at once.
    ///
    /// # Errors
    /// What mmap(2) reports, e.g. `ENODEV` where sockets do not have it.
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
