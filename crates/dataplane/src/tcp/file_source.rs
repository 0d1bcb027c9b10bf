//! Sends the content of a file. A slow disk blocks the worker: the test measures the disk too,
//! which is its purpose.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::ops::Range;

use measurement::engine::{self, Engine};

use crate::scratch::Scratch;
use crate::tcp::Source;

/// A [`Source`] that reads a file block by block to its end, and writes the
/// blocks to the socket.
#[derive(Debug)]
pub struct FileSource {
    file: File,
    block: Box<[u8]>,
    /// The part of the block that was read and not sent.
    held: Range<usize>,
}

impl FileSource {
    /// A source of the rest of `file`, from its current position, in blocks of `block` bytes.
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
