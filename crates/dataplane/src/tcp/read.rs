//! Receives with read(2), every byte copied.

use std::io::{self, Read};
use std::net::TcpStream;

use measurement::engine::{self, Engine};

use crate::scratch::Scratch;
use crate::shared_resources::SharedResources;
use crate::tcp::{MakeSink, Sink};

/// A [`Sink`] that copies received bytes by read(2) into the worker thread's
/// buffer, whose content is overwritten by the next read.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadSink;

impl MakeSink for ReadSink {
    fn make(_: &SharedResources, _: &TcpStream) -> io::Result<Self> {
        Ok(Self)
    }
}

impl Sink for ReadSink {
    const ENGINE: &'static Engine = &engine::READ;

    fn take(&mut self, mut from: &TcpStream, scratch: &mut Scratch) -> io::Result<usize> {
        from.read(scratch.buffer())
    }
}
