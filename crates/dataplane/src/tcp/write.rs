//! Sends with write(2), every byte copied.

use std::io::{self, Write};
use std::net::TcpStream;

use measurement::engine::{self, Engine};

use crate::scratch::Scratch;
use crate::shared_resources::SharedResources;
use crate::tcp::{MakeSource, Source};

/// A [`Source`] that sends the worker thread's payload by write(2).
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteSource;

impl MakeSource for WriteSource {
    fn make(_: &SharedResources, _: &TcpStream) -> io::Result<Self> {
        Ok(Self)
    }
}

impl Source for WriteSource {
    const ENGINE: &'static Engine = &engine::WRITE;

    fn offer(&mut self, most: usize, scratch: &Scratch) -> io::Result<usize> {
        Ok(most.min(scratch.payload().len()))
    }

    fn send(&mut self, mut to: &TcpStream, count: usize, scratch: &Scratch) -> io::Result<usize> {
        to.write(&scratch.payload()[..count])
    }
}
