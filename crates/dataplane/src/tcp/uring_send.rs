//! Sends with io_uring(7), every byte copied or none, if that can be avoided.

use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use linux::memory::Region;
use linux::uring::{SendCompletion, SendMode, SendRing};
use measurement::engine::{self, Engine};

use crate::scratch::Scratch;
use crate::shared_resources::SharedResources;
use crate::tcp::{MakeSource, Source, ZerocopyCounters};

/// A payload of its own, sent by a ring. All streams of a test can share the payload.
pub struct UringSource<const ZEROCOPY: bool> {
    ring: SendRing,
    length: usize,
    counters: Arc<ZerocopyCounters>,
    /// The send in flight is copied, since the kernel had no room to note its pages.
    is_copying: bool,
}

impl<const ZEROCOPY: bool> UringSource<ZEROCOPY> {
    /// Sends `payload` over and over, and counts in `counters` what is sent in place.
    ///
    /// # Errors
    /// As for [`SendRing::new`].
    pub fn new(payload: Arc<Region>, counters: Arc<ZerocopyCounters>) -> io::Result<Self> {
        let (manner, length) =
            (if ZEROCOPY { SendMode::ZeroCopy } else { SendMode::Copy }, payload.len());
        Ok(Self { ring: SendRing::new(payload, manner)?, length, counters, is_copying: false })
    }

    /// The bytes of the send in flight, if it is done.
    fn reap(&mut self) -> io::Result<Option<usize>> {
        while let Some(sent) = self.ring.reap()? {
            match sent {
                SendCompletion::Bytes(bytes) => {
                    if ZEROCOPY && !std::mem::take(&mut self.is_copying) {
                        self.counters.note_send();
                    }
                    return Ok(Some(bytes));
                }
                SendCompletion::Released { copied } => self.counters.hear(1, u64::from(copied)),
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
        // One at a time, so that the bytes stay in order; of those before it the pages may be on
        // their way.
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
