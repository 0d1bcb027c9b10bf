//! BufferPlan that all streams of one worker use in turn.

use std::io;
use std::sync::Arc;

use linux::memory::Region;
use linux::udp::{
    MAX_GSO_PAYLOAD, MAX_GSO_SEGMENTS, MAX_GSO_SEGMENTS_SINCE_6_9, ReceiveBatch, SendBatch,
};

use crate::pacing::PacingStatistics;

/// What the memory of a worker is to suit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferPlan {
    /// What moves.
    pub kind: BufferKind,
    /// Bytes of a block, or of a datagram.
    pub block: usize,
    /// What is sent.
    pub pattern: PayloadPattern,
}

/// What moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferKind {
    /// Blocks of a byte stream.
    Blocks,
    /// Batches of datagrams.
    Datagrams,
    /// Batches of datagrams, each in one piece.
    Segments,
}

/// What a payload consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadPattern {
    /// Random bytes, so that no link compresses them.
    Random,
    /// The ten digits over and over, as iperf3 repeats them.
    Digits,
}

impl PayloadPattern {
    /// `length` bytes of it.
    ///
    /// # Errors
    /// What getrandom(2) reports.
    pub fn bytes(self, length: usize) -> io::Result<Box<[u8]>> {
        let mut bytes: Box<[u8]> = DIGITS.iter().copied().cycle().take(length).collect();
        if self == Self::Random {
            linux::entropy::fill(&mut bytes)?;
        }
        Ok(bytes)
    }
}

/// One payload to send, one buffer to receive into, and their UDP forms: hot, since all
/// streams of an MPU use them.
pub struct Scratch {
    /// Payload and buffer, next to each other.
    blocks: Region,
    /// How long the payload is, and where the buffer begins.
    payload: usize,
    buffer: usize,
    /// What UDP senders send; empty in a TCP test.
    pub outgoing: SendBatch,
    /// What UDP receivers read into; empty in a TCP test.
    pub incoming: ReceiveBatch,
    /// Where paced senders note how they keep their times.
    pub pacing: Arc<PacingStatistics>,
}

impl Scratch {
    pub(crate) fn new(memory: BufferPlan, pacing: Arc<PacingStatistics>) -> io::Result<Self> {
        let block = memory.block.max(1);
        let payload = memory.pattern.bytes(block)?;
        let (slots, slot) = incoming(memory.kind, block);
        let (datagrams, length) = outgoing(memory.kind, block);
        let (sent, received) =
            if memory.kind == BufferKind::Blocks { (block, block) } else { (0, 0) };
        // What is sent may be on its way for long: nobody writes on its pages.
        let buffer = sent.next_multiple_of(LARGEST_PAGE);
        let mut blocks = Region::new(buffer + received)?;
        blocks[..sent].copy_from_slice(&payload[..sent]);
        Ok(Self {
            blocks,
            payload: sent,
            buffer,
            outgoing: SendBatch::new(datagrams, length, &payload),
            incoming: ReceiveBatch::new(slots, slot),
            pacing,
        })
    }

    /// What TCP senders send.
    pub fn payload(&self) -> &[u8] {
        &self.blocks[..self.payload]
    }

    /// What TCP receivers read into.
    pub fn buffer(&mut self) -> &mut [u8] {
        &mut self.blocks[self.buffer..]
    }
}

/// How many datagrams go in one call, and how long each is.
fn outgoing(kind: BufferKind, block: usize) -> (usize, usize) {
    match kind {
        BufferKind::Blocks => (1, 1),
        BufferKind::Datagrams => ((BATCH_BYTES / block).clamp(1, MOST_DATAGRAMS), block),
        BufferKind::Segments => (most_segments(block) * PIECES, block),
    }
}

/// How many datagrams of `block` bytes can go in one piece, at least one.
pub fn segments(block: usize) -> usize {
    (MAX_GSO_PAYLOAD / block.max(1)).clamp(1, MAX_GSO_SEGMENTS)
}

/// The same for a kernel that takes as many as any.
fn most_segments(block: usize) -> usize {
    (MAX_GSO_PAYLOAD / block.max(1)).clamp(1, MAX_GSO_SEGMENTS_SINCE_6_9)
}

/// How many slots there are for what comes in one call, and how long each is.
fn incoming(kind: BufferKind, block: usize) -> (usize, usize) {
    match kind {
        BufferKind::Blocks => (1, 1),
        BufferKind::Datagrams => ((BATCH_BYTES / block).clamp(1, MOST_DATAGRAMS), block),
        // Small datagrams make small pieces, of which more fit the cache.
        BufferKind::Segments => {
            let piece = (most_segments(block) * block).clamp(BATCH_BYTES / MOST_PIECES, SLOT);
            (BATCH_BYTES / piece, SLOT)
        }
    }
}

/// Of all machines that Linux runs on.
const LARGEST_PAGE: usize = 64 * 1024;
const DIGITS: &[u8; 10] = b"0123456789";
/// About the share of a second-level cache that one buffer may fill.
const BATCH_BYTES: usize = 256 * 1024;
/// More datagrams in one call gain nothing and delay the ones behind.
const MOST_DATAGRAMS: usize = 64;
/// Pieces that go in one call.
const PIECES: usize = 8;
/// Pieces that come in one call, however short they are.
const MOST_PIECES: usize = 32;
/// No piece is longer, whichever the version of IP.
const SLOT: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_as_long_as_udp_and_the_kernel_allow() {
        assert_eq!([1, 16, 1_460, 40_000, 65_507].map(segments), [64, 64, 44, 1, 1]);
    }

    #[test]
    fn digits_repeat_and_random_bytes_do_not() {
        assert_eq!(&*PayloadPattern::Digits.bytes(12).expect("made"), b"012345678901");
        let random = PayloadPattern::Random.bytes(64).expect("made");
        assert!(random != PayloadPattern::Digits.bytes(64).expect("made"));
    }
}
