//! Receives with read(2), every byte copied.

use std::io::{self, Read};
use std::net::TcpStream;

use crate::scratch::Scratch;
use crate::supplies::Supplies;
use crate::tcp::{MakeSink, Sink};

/// The worker's buffer, read into.
#[derive(Clone, Copy, Debug, Default)]
pub struct Copied;

impl MakeSink for Copied {
    fn make(_: &Supplies, _: &TcpStream) -> io::Result<Self> {
        Ok(Self)
    }
}

impl Sink for Copied {
    const NAME: &'static str = "read";

    fn take(&mut self, mut from: &TcpStream, scratch: &mut Scratch) -> io::Result<usize> {
        from.read(scratch.buffer())
    }
}
