//! Sends with `MSG_ZEROCOPY`: the network card takes the bytes from where they lie, and the
//! kernel says afterwards for how many sends it copied them all the same.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use linux::tcp::Completions;
use measurement::engine::{self, Engine};
use portable_atomic::AtomicU64;

use crate::scratch::Scratch;
use crate::shared_resources::SharedResources;
use crate::tcp::{MakeSource, Source};

/// The worker's payload, sent from where it lies. Nobody changes it during a test.
#[derive(Debug)]
pub struct MsgZerocopySource {
    counters: Arc<ZerocopyCounters>,
    /// Sends that the kernel has not told of.
    pending: u64,
}

/// What became of the sends of a test's streams.
#[derive(Debug, Default)]
pub struct ZerocopyCounters {
    sends: AtomicU64,
    done: AtomicU64,
    copied: AtomicU64,
    refused: AtomicU64,
}

impl ZerocopyCounters {
    pub(crate) fn note_send(&self) {
        self.sends.fetch_add(1, Relaxed);
    }

    /// One is written, as the kernel has no room to note it.
    pub(crate) fn note_refusal(&self) {
        self.refused.fetch_add(1, Relaxed);
    }

    /// The kernel is done with some, and copied some of these.
    pub(crate) fn hear(&self, done: u64, copied: u64) {
        self.done.fetch_add(done, Relaxed);
        self.copied.fetch_add(copied, Relaxed);
    }

    /// Sends for which no copy was asked.
    pub fn sends(&self) -> u64 {
        self.sends.load(Relaxed)
    }

    /// Those among them that the kernel was done with.
    pub fn done(&self) -> u64 {
        self.done.load(Relaxed)
    }

    /// Those among these whose bytes it copied.
    pub fn copied(&self) -> u64 {
        self.copied.load(Relaxed)
    }

    /// Sends that were written instead, as the kernel had no room to note them.
    pub fn refused(&self) -> u64 {
        self.refused.load(Relaxed)
    }
}

impl MsgZerocopySource {
    /// Sends over `socket`, which it sets up, and counts in `counters`.
    ///
    /// # Errors
    /// What setsockopt(2) reports, e.g. `ENOPROTOOPT` before Linux 4.14.
    pub fn new(socket: &TcpStream, counters: Arc<ZerocopyCounters>) -> io::Result<Self> {
        linux::tcp::enable_zerocopy(socket)?;
        Ok(Self { counters, pending: 0 })
    }

    /// Hears of all sends that the kernel is done with.
    fn hear(&mut self, socket: &TcpStream) -> io::Result<()> {
        while let Some(Completions { done, copied }) = linux::tcp::read_completions(socket)? {
            self.pending = self.pending.saturating_sub(done);
            self.counters.hear(done, copied);
        }
        Ok(())
    }

    fn send_zerocopy(&mut self, to: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
        let sent = linux::tcp::send_zerocopy(to, bytes)?;
        self.pending += 1;
        self.counters.note_send();
        Ok(sent)
    }
}

impl MakeSource for MsgZerocopySource {
    fn make(resources: &SharedResources, socket: &TcpStream) -> io::Result<Self> {
        Self::new(socket, Arc::clone(resources.zerocopy()))
    }
}

impl Source for MsgZerocopySource {
    const ENGINE: &'static Engine = &engine::ZEROCOPY;

    fn offer(&mut self, most: usize, scratch: &Scratch) -> io::Result<usize> {
        Ok(most.min(scratch.payload().len()))
    }

    fn send(&mut self, to: &TcpStream, count: usize, scratch: &Scratch) -> io::Result<usize> {
        if self.pending >= MANY {
            self.hear(to)?;
        }
        let bytes = &scratch.payload()[..count];
        match self.send_zerocopy(to, bytes) {
            Err(error) if linux::lacks_buffers(&error) => {
                self.hear(to)?;
                if self.pending > 0 {
                    // It tells when there is room again.
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                self.counters.note_refusal();
                io::Write::write(&mut &*to, bytes)
            }
            result => result,
        }
    }

    fn finish(&mut self, to: &TcpStream) -> u64 {
        _ = self.hear(to);
        0
    }
}

/// Notes cost a system call each, and the kernel joins those that wait.
const MANY: u64 = 32;
