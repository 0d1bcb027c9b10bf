//! Sends with vmsplice(2) and splice(2): the network card takes the bytes from where they
//! lie.

use std::io;
use std::net::TcpStream;

use linux::splice::Pipe;
use measurement::engine::{self, Engine};

use crate::scratch::Scratch;
use crate::shared_resources::SharedResources;
use crate::tcp::{MakeSource, Source};

/// The worker's payload, whose pages go through a pipe to the socket. Nobody changes them
/// during a test.
#[derive(Debug)]
pub struct VmspliceSource {
    pipe: Pipe,
    /// Bytes in the pipe.
    held: usize,
}

impl VmspliceSource {
    /// Sends blocks of about `block` bytes.
    ///
    /// # Errors
    /// What pipe2(2) reports, e.g. `EMFILE`.
    pub fn new(block: usize) -> io::Result<Self> {
        // A block that begins within a page takes one more.
        Ok(Self { pipe: Pipe::new(block.saturating_add(PAGE))?, held: 0 })
    }
}

impl MakeSource for VmspliceSource {
    fn make(resources: &SharedResources, _: &TcpStream) -> io::Result<Self> {
        Self::new(resources.block())
    }
}

impl Source for VmspliceSource {
    const ENGINE: &'static Engine = &engine::VMSPLICE;

    fn offer(&mut self, most: usize, scratch: &Scratch) -> io::Result<usize> {
        if self.held == 0 {
            let payload = scratch.payload();
            self.held = self.pipe.put(&payload[..most.min(payload.len())])?;
        }
        Ok(most.min(self.held))
    }

    fn send(&mut self, to: &TcpStream, count: usize, _: &Scratch) -> io::Result<usize> {
        let sent = self.pipe.splice_to(to, count)?;
        self.held -= sent;
        Ok(sent)
    }
}

/// On most machines; elsewhere the pipe is larger all the same.
const PAGE: usize = 4096;
