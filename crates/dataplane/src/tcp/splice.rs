//! Receives with splice(2): the pages go through a pipe to `/dev/null`.

use std::fs::File;
use std::io;
use std::net::TcpStream;

use linux::splice::Pipe;
use measurement::engine::{self, Engine};

use crate::scratch::Scratch;
use crate::shared_resources::SharedResources;
use crate::tcp::{MakeSink, Sink};

/// A [`Sink`] that moves received bytes through a pipe to `/dev/null` by
/// splice(2), without a copy.
#[derive(Debug)]
pub struct SpliceSink {
    pipe: Pipe,
    dev_null: &'static File,
}

impl SpliceSink {
    /// A sink that takes about `block` bytes at once.
    ///
    /// # Errors
    /// `EMFILE`, `ENFILE`: no more descriptors for the pipe (pipe2(2)) or for `/dev/null`
    /// (open(2)). Any error of open(2): `/dev/null` cannot be opened.
    pub fn new(block: usize) -> io::Result<Self> {
        Ok(Self { pipe: Pipe::new(block)?, dev_null: linux::splice::dev_null()? })
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
            left -= self.pipe.splice_to(self.dev_null, left)?;
        }
        Ok(taken)
    }
}
