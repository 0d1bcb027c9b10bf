//! Keeps what it receives in a file. A disk that is slow holds up the worker: this
//! measures the disk too, as its user wants.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::TcpStream;

use measurement::engine::{self, Engine};

use crate::scratch::Scratch;
use crate::tcp::Sink;

/// A file, written to as bytes come.
#[derive(Debug)]
pub struct FileSink(File);

impl FileSink {
    /// Appends to `file` from where that stands.
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
