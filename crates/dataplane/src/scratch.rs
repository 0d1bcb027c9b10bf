//! The buffers of one worker, which its streams use in turn.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use linux::memory::Region;
use linux::udp::{
    MAX_GSO_PAYLOAD, MAX_GSO_SEGMENTS, MAX_GSO_SEGMENTS_SINCE_6_9, ReceiveBatch, SendBatch,
};
use measurement::PayloadPages;

use crate::payload::{Payload, PayloadPattern};
use crate::worker_statistics::WorkerStatistics;

/// The size and the content of the buffers of one worker thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferPlan {
    /// The unit in which payload moves.
    pub kind: BufferKind,
    /// Bytes of a block of a byte stream, or of a datagram.
    pub block: usize,
    /// The content of the payload.
    pub pattern: PayloadPattern,
    /// Pages of the memory that TCP streams send from; none: huge ones for large blocks, where the
    /// kernel grants them.
    pub pages: Option<PayloadPages>,
}

/// The unit in which payload moves: blocks of a byte stream, datagrams, or GSO packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferKind {
    /// Blocks of a byte stream.
    Blocks,
    /// Blocks of a byte stream that are only received: there is no payload to send.
    ReceivedBlocks,
    /// Batches of datagrams, each of which is a packet of its own to the kernel.
    Datagrams,
    /// Such batches that are only received: there is no payload to send.
    ReceivedDatagrams,
    /// Batches of datagrams that the kernel handles as one packet (GSO, GRO).
    Segments,
}

impl BufferKind {
    const fn is_stream(self) -> bool {
        matches!(self, Self::Blocks | Self::ReceivedBlocks)
    }

    const fn is_received(self) -> bool {
        matches!(self, Self::ReceivedBlocks | Self::ReceivedDatagrams)
    }
}

/// The buffers of one worker thread: one payload to send and one buffer to receive into, with their
/// UDP forms. All streams of the thread share them, so that they stay in its caches. What changes
/// takes memory when bytes move.
pub struct Scratch {
    payload: Payload,
    /// It takes memory as far as something is received.
    buffer: Region,
    /// The datagrams that UDP senders send. One of one byte in a TCP test.
    pub outgoing: SendBatch,
    /// The slots that UDP receivers read into. One of one byte in a TCP test.
    pub incoming: ReceiveBatch,
    /// Bytes that a call of a TCP sender sends at most.
    pub(crate) most_sent: usize,
    /// CPU time that the MPU needs to sleep until a time.
    pub(crate) wake_cost: Duration,
    /// What this MPU notes of its streams.
    pub statistics: Arc<WorkerStatistics>,
}

impl Scratch {
    /// The buffers of MPU `mpu`.
    pub(crate) fn new(
        memory: BufferPlan,
        mpu: usize,
        statistics: Arc<WorkerStatistics>,
    ) -> io::Result<Self> {
        let block = memory.block.max(1);
        let sent = if memory.kind.is_received() { 1 } else { block };
        let payload = Payload::of(memory.pattern, memory.pages, sent, mpu)?;
        let (slots, slot) = incoming(memory.kind, block);
        let (datagrams, length) = outgoing(memory.kind, block);
        let received = if memory.kind.is_stream() { block } else { 0 };
        Ok(Self {
            // Zero-copy sends may hold the pages of the payload after the call: the buffer, which
            // changes, lies on other pages.
            buffer: Region::on_small_pages(received)?,
            outgoing: SendBatch::new(datagrams, length, &payload[..length]),
            incoming: ReceiveBatch::new(slots, slot),
            payload,
            most_sent: usize::MAX,
            wake_cost: Duration::ZERO,
            statistics,
        })
    }

    /// The block that TCP senders send; one byte if none of the streams sends.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// The buffer that TCP receivers read into.
    pub fn buffer(&mut self) -> &mut [u8] {
        &mut self.buffer
    }
}

/// The number of datagrams that are sent with one call, and their length in bytes.
fn outgoing(kind: BufferKind, block: usize) -> (usize, usize) {
    match kind {
        BufferKind::Blocks | BufferKind::ReceivedBlocks | BufferKind::ReceivedDatagrams => (1, 1),
        BufferKind::Datagrams => ((BATCH_BYTES / block).clamp(1, MOST_DATAGRAMS), block),
        BufferKind::Segments => (most_segments(block) * GSO_PACKETS, block),
    }
}

/// How many datagrams of `block` bytes fit into one UDP GSO packet, at least one. The limit is that
/// of kernels before Linux 6.9 (`UDP_MAX_SEGMENTS` in `include/linux/udp.h`).
pub fn segments(block: usize) -> usize {
    (MAX_GSO_PAYLOAD / block.max(1)).clamp(1, MAX_GSO_SEGMENTS)
}

/// How many datagrams of `block` bytes fit into the largest GSO packet of any kernel.
fn most_segments(block: usize) -> usize {
    (MAX_GSO_PAYLOAD / block.max(1)).clamp(1, MAX_GSO_SEGMENTS_SINCE_6_9)
}

/// The number of slots that are received into with one call, and their length in bytes.
fn incoming(kind: BufferKind, block: usize) -> (usize, usize) {
    match kind {
        BufferKind::Blocks | BufferKind::ReceivedBlocks => (1, 1),
        BufferKind::Datagrams | BufferKind::ReceivedDatagrams => {
            ((BATCH_BYTES / block).clamp(1, MOST_DATAGRAMS), block)
        }
        // Small datagrams make small packets, of which more fit the cache.
        BufferKind::Segments => {
            let packet = (most_segments(block) * block).clamp(BATCH_BYTES / MOST_GRO_PACKETS, SLOT);
            (BATCH_BYTES / packet, SLOT)
        }
    }
}

/// One buffer may fill about this much of a second-level cache.
const BATCH_BYTES: usize = 256 * 1024;
/// More datagrams in one call gain nothing and delay the last of them.
const MOST_DATAGRAMS: usize = 64;
/// GSO packets that are sent with one call.
const GSO_PACKETS: usize = 8;
/// GRO packets that are received with one call, however short they are.
const MOST_GRO_PACKETS: usize = 32;
/// More than the longest packet over IPv4 or IPv6 (64 KiB). Slots a power of two apart would share
/// few lines of a cache.
const SLOT: usize = 72 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gso_packet_is_as_long_as_udp_and_the_kernel_allow() {
        assert_eq!([1, 16, 1_460, 40_000, 65_507].map(segments), [64, 64, 44, 1, 1]);
    }
}
