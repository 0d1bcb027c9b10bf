//! Memory that all streams of one worker use in turn.

use std::io;

use linux::udp::{ReceiveBatch, SendBatch};

/// One payload to send, one buffer to receive into, and their UDP forms.
pub struct Scratch {
    /// What TCP senders send: random bytes, so that no link compresses them.
    pub payload: Box<[u8]>,
    /// What TCP receivers read into.
    pub buffer: Box<[u8]>,
    /// What UDP senders send; empty in a TCP test.
    pub outgoing: SendBatch,
    /// What UDP receivers read into; empty in a TCP test.
    pub incoming: ReceiveBatch,
}

/// Which of the memory is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Blocks of a byte stream.
    Blocks,
    /// Batches of datagrams.
    Datagrams,
}

impl Scratch {
    pub(crate) fn new(kind: Kind, block: usize) -> io::Result<Self> {
        let mut payload = vec![0; block].into_boxed_slice();
        linux::entropy::fill(&mut payload)?;
        let (bytes, slots, slot) = match kind {
            Kind::Blocks => (block, 1, 1),
            Kind::Datagrams => (0, (BATCH_BYTES / block).clamp(1, MOST_DATAGRAMS), block),
        };
        Ok(Self {
            buffer: vec![0; bytes].into_boxed_slice(),
            outgoing: SendBatch::new(slots, slot, &payload),
            incoming: ReceiveBatch::new(slots, slot),
            payload,
        })
    }
}

/// About the share of a second-level cache that one buffer may fill.
const BATCH_BYTES: usize = 256 * 1024;
/// More datagrams in one call gain nothing and delay the ones behind.
const MOST_DATAGRAMS: usize = 64;
