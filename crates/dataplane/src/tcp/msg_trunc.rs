//! Receives with recvmsg(2) and `MSG_TRUNC` (tcp(7)): the kernel discards the bytes uncopied.

use std::io;
use std::net::TcpStream;

use linux::tcp::{Received, receive_repeatedly};
use measurement::engine::{self, Engine};

use crate::scratch::Scratch;
use crate::shared_resources::SharedResources;
use crate::tcp::{MakeSink, Sink};

/// A [`Sink`] that discards received bytes in the kernel without a copy
/// (`MSG_TRUNC`, tcp(7)).
#[derive(Clone, Copy, Debug, Default)]
pub struct MsgTruncSink;

impl MakeSink for MsgTruncSink {
    fn make(_: &SharedResources, _: &TcpStream) -> io::Result<Self> {
        Ok(Self)
    }
}

impl Sink for MsgTruncSink {
    const ENGINE: &'static Engine = &engine::MSG_TRUNC;

    fn take(&mut self, from: &TcpStream, scratch: &mut Scratch) -> io::Result<usize> {
        receive_repeatedly(from, scratch.buffer(), usize::MAX, Received::Dropped)
    }
}
