//! Receives with read(2), every byte copied.

use std::io::{self, Read};
use std::net::TcpStream;

use crate::scratch::Scratch;
use crate::tcp::Sink;

/// The worker's buffer, read into.
#[derive(Clone, Copy, Debug, Default)]
pub struct Copied;

impl Sink for Copied {
    const NAME: &'static str = "read";

    fn take(&mut self, mut from: &TcpStream, scratch: &mut Scratch) -> io::Result<usize> {
        from.read(scratch.buffer())
    }
}
