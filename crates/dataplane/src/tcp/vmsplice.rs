//! Sends with vmsplice(2) and splice(2): pages of memory go through a pipe to the socket, and
//! the network card reads them there.

use std::io;
use std::net::TcpStream;

use linux::splice::Pipe;
use measurement::engine::{self, Engine};

use crate::scratch::Scratch;
use crate::shared_resources::SharedResources;
use crate::tcp::{MakeSource, Source};

/// A [`Source`] that sends the pages of the worker thread's payload through a
/// pipe by vmsplice(2) and splice(2), without a copy. The payload does not change during a test.
#[derive(Debug)]
pub struct VmspliceSource {
    pipe: Pipe,
    /// Bytes that lie in the pipe.
    held: usize,
}

impl VmspliceSource {
    /// A source that sends about `block` bytes at once.
    ///
    /// # Errors
    /// `EMFILE`, `ENFILE`: no more descriptors for the pipe (pipe2(2)).
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

/// Bytes of a page on most architectures. Where pages are larger, so is the pipe.
const PAGE: usize = 4096;
