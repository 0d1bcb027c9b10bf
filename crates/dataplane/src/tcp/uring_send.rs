//! Sends with io_uring(7): with a copy (`IORING_OP_SEND`) or without (`IORING_OP_SEND_ZC`).

use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use linux::memory::Region;
use linux::uring::{SendCompletion, SendMode, SendRing};
use measurement::engine::{self, Engine};

use crate::scratch::Scratch;
use crate::shared_resources::SharedResources;
use crate::tcp::{MakeSource, Source};
use crate::zerocopy_counters::ZerocopyCounters;

/// A [`Source`] that sends a payload by an io_uring(7); with `ZEROCOPY` without
/// a copy where the kernel can. All streams of a test can share the payload.
pub struct UringSource<const ZEROCOPY: bool> {
    ring: SendRing,
    length: usize,
    counters: Arc<ZerocopyCounters>,
    /// The send in flight is copied, since the kernel could not lock its pages.
    is_copying: bool,
}

impl<const ZEROCOPY: bool> UringSource<ZEROCOPY> {
    /// A source that sends `payload` over and over, and counts zero-copy sends in `counters`.
    ///
    /// # Errors
    /// `ENOSYS`: the kernel has no io_uring(7); `EPERM`: it is disabled
    /// (`kernel.io_uring_disabled`); `ENOMEM`, `EMFILE`: no memory or descriptor for the ring.
    pub fn new(payload: Arc<Region>, counters: Arc<ZerocopyCounters>) -> io::Result<Self> {
        let (mode, length) =
            (if ZEROCOPY { SendMode::ZeroCopy } else { SendMode::Copy }, payload.len());
        Ok(Self { ring: SendRing::new(payload, mode)?, length, counters, is_copying: false })
    }

    /// The bytes of the send in flight, if it has completed.
    fn reap(&mut self) -> io::Result<Option<usize>> {
        while let Some(sent) = self.ring.reap()? {
            match sent {
                SendCompletion::Bytes(bytes) => {
                    if ZEROCOPY && !std::mem::take(&mut self.is_copying) {
                        self.counters.note_send();
                    }
                    return Ok(Some(bytes));
                }
                SendCompletion::Released { copied } => {
                    self.counters.note_completions(1, u64::from(copied));
                }
                SendCompletion::Failed(error) => return Err(error),
            }
        }
        Ok(None)
    }
}

impl<const ZEROCOPY: bool> MakeSource for UringSource<ZEROCOPY> {
    fn make(resources: &SharedResources, socket: &TcpStream) -> io::Result<Self> {
        let mut this = Self::new(resources.region()?, Arc::clone(resources.zerocopy()))?;
        match this.ring.probe(socket) {
            // The first bytes will be copied, and counted as such.
            Err(error) if ZEROCOPY && linux::lacks_memory(&error) => Ok(this),
            result => result.map(|()| this),
        }
    }
}

impl<const ZEROCOPY: bool> Source for UringSource<ZEROCOPY> {
    const ENGINE: &'static Engine = if ZEROCOPY { &engine::URING_ZEROCOPY } else { &engine::URING };

    fn offer(&mut self, most: usize, _: &Scratch) -> io::Result<usize> {
        Ok(most.min(self.length))
    }

    fn send(&mut self, to: &TcpStream, count: usize, _: &Scratch) -> io::Result<usize> {
        // One at a time, so that the bytes stay in order. The kernel may still hold the pages of
        // earlier sends.
        if self.ring.in_flight() == 0 {
            self.ring.send(to, count)?;
        }
        let sent = match self.reap() {
            Err(error) if ZEROCOPY && linux::lacks_memory(&error) => {
                self.counters.note_refusal();
                self.is_copying = true;
                self.ring.send_copying(to, count)?;
                self.reap()
            }
            result => result,
        };
        sent?.ok_or_else(|| io::ErrorKind::WouldBlock.into())
    }

    fn ring(&self) -> Option<BorrowedFd<'_>> {
        Some(self.ring.as_fd())
    }

    fn finish(&mut self, _: &TcpStream) -> u64 {
        _ = self.ring.cancel();
        let mut late = 0;
        while let Ok(Some(bytes)) = self.reap() {
            late += bytes as u64;
        }
        late
    }
}
