//! Sends with send(2) blocks that begin with their number and the time at which they are sent.

use std::io;
use std::net::TcpStream;
use std::time::Duration;

use linux::message;
use measurement::engine::{self, Engine};
use protocol::iperf2::WriteMarks;

use crate::PayloadPattern;
use crate::scratch::Scratch;
use crate::tcp::Source;

/// A [`Source`] of blocks that iperf2's marks begin (clause 3.14 of docs/protocol/iperf2.md).
#[derive(Debug)]
pub struct MarkedSource {
    marks: WriteMarks,
    /// Time of day less the time of the monotonic clock.
    epoch: Duration,
    block: Box<[u8]>,
    /// Bytes of the block that are sent.
    sent: usize,
    number: u32,
}

impl MarkedSource {
    /// Blocks of `length` bytes, or as many as the marks have.
    ///
    /// # Errors
    /// None: digits need no entropy.
    pub fn new(marks: WriteMarks, epoch: Duration, length: usize) -> io::Result<Self> {
        let block = PayloadPattern::Digits.bytes(length.max(WriteMarks::LENGTH))?;
        Ok(Self { marks, epoch, block, sent: 0, number: 0 })
    }
}

impl Source for MarkedSource {
    const ENGINE: &'static Engine = &engine::WRITE;

    fn offer(&mut self, most: usize, _scratch: &Scratch) -> io::Result<usize> {
        Ok(most.min(self.block.len() - self.sent))
    }

    fn send(&mut self, to: &TcpStream, count: usize, _scratch: &Scratch) -> io::Result<usize> {
        if self.sent == 0 {
            let now = self.epoch + Duration::from_nanos(crate::now().nanos());
            self.marks.write(self.number.wrapping_add(1), now, &mut self.block);
        }
        let length = message::send(to, &self.block[self.sent..self.sent + count])?;
        self.sent += length;
        if self.sent == self.block.len() {
            self.sent = 0;
            self.number = self.number.wrapping_add(1);
        }
        Ok(length)
    }
}
