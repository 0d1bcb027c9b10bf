//! Sends with sendmsg(2), every byte copied.

use std::io;
use std::net::TcpStream;

use linux::tcp::{MOST_PIECES, send_repeated, set_unsent_low_water};
use measurement::engine::{self, Engine};

use crate::scratch::Scratch;
use crate::shared_resources::SharedResources;
use crate::tcp::{MakeSource, Source};

/// A [`Source`] that sends the worker thread's payload, in one call several times if a block is
/// longer.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteSource;

impl MakeSource for WriteSource {
    fn make(resources: &SharedResources, socket: &TcpStream) -> io::Result<Self> {
        if let Some(bytes) = resources.bulk().unsent {
            // Without the mark it sends all the same.
            _ = set_unsent_low_water(socket, bytes);
        }
        Ok(Self)
    }
}

impl Source for WriteSource {
    const ENGINE: &'static Engine = &engine::WRITE;

    fn offer(&mut self, most: usize, scratch: &Scratch) -> io::Result<usize> {
        Ok(most.min(scratch.payload().len() * MOST_PIECES))
    }

    fn send(&mut self, to: &TcpStream, count: usize, scratch: &Scratch) -> io::Result<usize> {
        send_repeated(to, scratch.payload(), count)
    }
}
