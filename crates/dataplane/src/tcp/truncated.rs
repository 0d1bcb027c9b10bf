//! Receives with recv(2) and `MSG_TRUNC`: the kernel drops the bytes where they lie.

use std::io;
use std::net::TcpStream;

use crate::scratch::Scratch;
use crate::tcp::Sink;

/// Nowhere.
#[derive(Clone, Copy, Debug, Default)]
pub struct Truncated;

impl Sink for Truncated {
    const NAME: &'static str = "recv+truncate";

    fn take(&mut self, from: &TcpStream, scratch: &mut Scratch) -> io::Result<usize> {
        linux::tcp::discard(from, scratch.buffer())
    }
}
