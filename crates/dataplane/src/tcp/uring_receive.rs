//! Receives with io_uring(7): one multishot request receives all payload, into buffers of the
//! ring.

use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};

use linux::uring::ReceiveRing;
use measurement::engine::{self, Engine};

use crate::scratch::Scratch;
use crate::shared_resources::SharedResources;
use crate::tcp::{MakeSink, Sink};

/// A [`Sink`] that receives into the provided buffers of an io_uring(7).
pub struct UringSink(ReceiveRing);

impl UringSink {
    /// A sink that receives about `block` bytes at once.
    ///
    /// # Errors
    /// `ENOSYS`: the kernel has no io_uring(7); `EPERM`: it is disabled
    /// (`kernel.io_uring_disabled`); `EINVAL`: it has no provided buffers (before Linux 5.19);
    /// `ENOMEM`, `EMFILE`: no memory or descriptor for the ring.
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
