//! Sends with io_uring(7), every byte copied or none, if that can be avoided.

use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use linux::memory::Region;
use linux::uring::{SendCompletion, SendMode, SendRing};
use measurement::engine::{self, Engine};

use crate::scratch::Scratch;
use crate::supplies::Supplies;
use crate::tcp::{InPlaceTally, MakeSource, Source};

/// A payload of its own, sent by a ring. All streams of a test can share the payload.
pub struct RingSent<const IN_PLACE: bool> {
    ring: SendRing,
    length: usize,
    tally: Arc<InPlaceTally>,
    /// The send in flight is copied, since the kernel had no room to note its pages.
    is_copying: bool,
}

impl<const IN_PLACE: bool> RingSent<IN_PLACE> {
    /// Sends `payload` over and over, and counts in `tally` what is sent in place.
    ///
    /// # Errors
    /// As for [`SendRing::new`].
    pub fn new(payload: Arc<Region>, tally: Arc<InPlaceTally>) -> io::Result<Self> {
        let (manner, length) =
            (if IN_PLACE { SendMode::ZeroCopy } else { SendMode::Copy }, payload.len());
        Ok(Self { ring: SendRing::new(payload, manner)?, length, tally, is_copying: false })
    }

    /// The bytes of the send in flight, if it is done.
    fn reap(&mut self) -> io::Result<Option<usize>> {
        while let Some(sent) = self.ring.reap()? {
            match sent {
                SendCompletion::Bytes(bytes) => {
                    if IN_PLACE && !std::mem::take(&mut self.is_copying) {
                        self.tally.note_send();
                    }
                    return Ok(Some(bytes));
                }
                SendCompletion::Released { copied } => self.tally.hear(1, u64::from(copied)),
                SendCompletion::Failed(error) => return Err(error),
            }
        }
        Ok(None)
    }
}

impl<const IN_PLACE: bool> MakeSource for RingSent<IN_PLACE> {
    fn make(supplies: &Supplies, socket: &TcpStream) -> io::Result<Self> {
        let mut this = Self::new(supplies.region()?, Arc::clone(supplies.in_place()))?;
        match this.ring.probe(socket) {
            // The first bytes will be copied, and counted as such.
            Err(error) if IN_PLACE && linux::lacks_memory(&error) => Ok(this),
            result => result.map(|()| this),
        }
    }
}

impl<const IN_PLACE: bool> Source for RingSent<IN_PLACE> {
    const ENGINE: &'static Engine = if IN_PLACE { &engine::URING_ZEROCOPY } else { &engine::URING };

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
            Err(error) if IN_PLACE && linux::lacks_memory(&error) => {
                self.tally.note_refusal();
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
