//! Writes the received payload to a file. A slow disk blocks the worker: the test measures the
//! disk too, which is its purpose.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::TcpStream;

use measurement::engine::{self, Engine};

use crate::scratch::Scratch;
use crate::tcp::Sink;

/// A [`Sink`] that reads from the socket and writes to a file.
#[derive(Debug)]
pub struct FileSink(File);

impl FileSink {
    /// A sink that writes to `file` from its current position.
    pub const fn new(file: File) -> Self {
        Self(file)
    }
}

impl Sink for FileSink {
    const ENGINE: &'static Engine = &engine::READ_TO_FILE;

    fn take(&mut self, mut from: &TcpStream, scratch: &mut Scratch) -> io::Result<usize> {
        let count = from.read(scratch.buffer())?;
        self.0.write_all(&scratch.buffer()[..count])?;
        Ok(count)
    }
}
