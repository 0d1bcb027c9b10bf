//! Receives with io_uring(7): one request brings all that comes, into buffers of the ring.

use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};

use linux::uring::ReceiveRing;
use measurement::engine::{self, Engine};

use crate::scratch::Scratch;
use crate::shared_resources::SharedResources;
use crate::tcp::{MakeSink, Sink};

/// The buffers of a ring.
pub struct UringSink(ReceiveRing);

impl UringSink {
    /// Receives about `block` bytes at once.
    ///
    /// # Errors
    /// As for [`ReceiveRing::new`].
    pub fn new(block: usize) -> io::Result<Self> {
        Ok(Self(ReceiveRing::new(block)?))
    }
}

impl MakeSink for UringSink {
    fn make(resources: &SharedResources, _: &TcpStream) -> io::Result<Self> {
        Self::new(resources.block())
    }
}

impl Sink for UringSink {
    const ENGINE: &'static Engine = &engine::URING_MULTISHOT;

    fn take(&mut self, from: &TcpStream, _: &mut Scratch) -> io::Result<usize> {
        if let Some(bytes) = self.0.reap()? {
            return Ok(bytes);
        }
        self.0.arm(from)?;
        self.0.reap()?.ok_or_else(|| io::ErrorKind::WouldBlock.into())
    }

    fn ring(&self) -> Option<BorrowedFd<'_>> {
        Some(self.0.as_fd())
    }
}
