//! Sends what a file has. A disk that is slow holds up the worker: this measures the
//! disk too, as its user wants.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::ops::Range;

use measurement::engine::{self, Engine};

use crate::scratch::Scratch;
use crate::tcp::Source;

/// A file, read block by block to its end and written to the socket.
#[derive(Debug)]
pub struct FileSource {
    file: File,
    block: Box<[u8]>,
    /// What of the block was read and is not sent.
    held: Range<usize>,
}

impl FileSource {
    /// Sends the rest of `file` in blocks of `block` bytes.
    pub fn new(file: File, block: usize) -> Self {
        Self { file, block: vec![0; block.max(1)].into_boxed_slice(), held: 0..0 }
    }
}

impl Source for FileSource {
    const ENGINE: &'static Engine = &engine::FILE_TO_WRITE;

    fn offer(&mut self, most: usize, _: &Scratch) -> io::Result<usize> {
        if self.held.is_empty() {
            self.held = 0..self.file.read(&mut self.block)?;
        }
        Ok(most.min(self.held.len()))
    }

    fn send(&mut self, mut to: &TcpStream, count: usize, _: &Scratch) -> io::Result<usize> {
        let sent = to.write(&self.block[self.held.clone()][..count])?;
        self.held.start += sent;
        Ok(sent)
    }
}
