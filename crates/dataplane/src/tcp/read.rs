//! Receives with recvmsg(2), every byte copied.

use std::io;
use std::net::TcpStream;

use linux::tcp::{Received, receive_repeatedly};
use measurement::engine::{self, Engine};

use crate::scratch::Scratch;
use crate::shared_resources::SharedResources;
use crate::tcp::{MakeSink, Sink};

/// A [`Sink`] that copies received bytes into the worker thread's buffer, where each overwrites
/// those before.
#[derive(Clone, Copy, Debug)]
pub struct ReadSink {
    /// Bytes that a call takes at most.
    most: usize,
}

impl ReadSink {
    /// A sink that takes at most so many bytes in a call.
    pub const fn new(most: usize) -> Self {
        Self { most }
    }
}

impl MakeSink for ReadSink {
    fn make(resources: &SharedResources, _: &TcpStream) -> io::Result<Self> {
        Ok(Self::new(resources.bulk().call))
    }
}

impl Sink for ReadSink {
    const ENGINE: &'static Engine = &engine::READ;

    fn take(&mut self, from: &TcpStream, scratch: &mut Scratch) -> io::Result<usize> {
        receive_repeatedly(from, scratch.buffer(), self.most, Received::Copied)
    }
}
