//! Receives with splice(2): the pages go through a pipe to where nobody reads them.

use std::fs::File;
use std::io;
use std::net::TcpStream;

use linux::splice::Pipe;
use measurement::engine::{self, Engine};

use crate::scratch::Scratch;
use crate::shared_resources::SharedResources;
use crate::tcp::{MakeSink, Sink};

/// A pipe to `/dev/null`.
#[derive(Debug)]
pub struct SpliceSink {
    pipe: Pipe,
    nowhere: &'static File,
}

impl SpliceSink {
    /// Takes about `block` bytes at once.
    ///
    /// # Errors
    /// What pipe2(2) or open(2) report, e.g. `EMFILE`.
    pub fn new(block: usize) -> io::Result<Self> {
        Ok(Self { pipe: Pipe::new(block)?, nowhere: linux::splice::dev_null()? })
    }
}

impl MakeSink for SpliceSink {
    fn make(resources: &SharedResources, _: &TcpStream) -> io::Result<Self> {
        Self::new(resources.block())
    }
}

impl Sink for SpliceSink {
    const ENGINE: &'static Engine = &engine::SPLICE;

    fn take(&mut self, from: &TcpStream, _: &mut Scratch) -> io::Result<usize> {
        let taken = self.pipe.splice_from(from, self.pipe.capacity())?;
        let mut left = taken;
        while left > 0 {
            left -= self.pipe.splice_to(self.nowhere, left)?;
        }
        Ok(taken)
    }
}
