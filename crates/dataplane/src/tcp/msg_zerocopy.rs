//! Sends with `MSG_ZEROCOPY` (Documentation/networking/msg_zerocopy.rst): the network card reads
//! the pages of the payload, and the kernel reports afterwards which sends it copied after all.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use linux::tcp::Completions;
use measurement::engine::{self, Engine};

use crate::scratch::Scratch;
use crate::shared_resources::SharedResources;
use crate::tcp::{MakeSource, Source};
use crate::zerocopy_counters::ZerocopyCounters;

/// A [`Source`] that sends the worker thread's payload without a copy
/// (`MSG_ZEROCOPY`). The payload does not change during a test.
#[derive(Debug)]
pub struct MsgZerocopySource {
    counters: Arc<ZerocopyCounters>,
    /// Sends whose completion the kernel has not reported.
    pending: u64,
}

impl MsgZerocopySource {
    /// A source for `socket`, on which it sets `SO_ZEROCOPY`. It counts its sends in `counters`.
    ///
    /// # Errors
    /// `ENOPROTOOPT`: the kernel is older than Linux 4.14 (setsockopt(2)).
    pub fn new(socket: &TcpStream, counters: Arc<ZerocopyCounters>) -> io::Result<Self> {
        linux::tcp::enable_zerocopy(socket)?;
        Ok(Self { counters, pending: 0 })
    }

    /// Reads all completions from the error queue of the socket.
    fn read_completions(&mut self, socket: &TcpStream) -> io::Result<()> {
        while let Some(Completions { done, copied }) = linux::tcp::read_completions(socket)? {
            self.pending = self.pending.saturating_sub(done);
            self.counters.note_completions(done, copied);
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
            self.read_completions(to)?;
        }
        let bytes = &scratch.payload()[..count];
        match self.send_zerocopy(to, bytes) {
            Err(error) if linux::lacks_buffers(&error) => {
                self.read_completions(to)?;
                if self.pending > 0 {
                    // The next completion wakes the stream: then there is memory again.
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                self.counters.note_refusal();
                io::Write::write(&mut &*to, bytes)
            }
            result => result,
        }
    }

    fn finish(&mut self, to: &TcpStream) -> u64 {
        _ = self.read_completions(to);
        0
    }
}

/// Completions cost a system call each, and the kernel merges those that wait.
const MANY: u64 = 32;
