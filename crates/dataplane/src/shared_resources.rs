//! What the engines of one test share beside the memory of their workers.

use std::io;
use std::sync::{Arc, OnceLock};

use linux::memory::Region;
use linux::payload::SealedPayload;

use crate::scratch::PayloadPattern;
use crate::tcp::ZerocopyCounters;

/// Payloads for those that send from where they lie, made when the first asks for them, and
/// what became of their sends.
#[derive(Debug)]
pub struct SharedResources {
    block: usize,
    pattern: PayloadPattern,
    sealed: OnceLock<Arc<SealedPayload>>,
    region: OnceLock<Arc<Region>>,
    zerocopy: Arc<ZerocopyCounters>,
}

impl SharedResources {
    /// For blocks of `block` bytes, at least one, of `pattern`.
    pub fn new(block: usize, pattern: PayloadPattern) -> Self {
        let (sealed, region) = (OnceLock::new(), OnceLock::new());
        Self { block: block.max(1), pattern, sealed, region, zerocopy: Arc::default() }
    }

    /// Bytes of a block.
    pub const fn block(&self) -> usize {
        self.block
    }

    /// What the blocks consist of.
    pub const fn pattern(&self) -> PayloadPattern {
        self.pattern
    }

    /// What became of the sends in place.
    pub const fn zerocopy(&self) -> &Arc<ZerocopyCounters> {
        &self.zerocopy
    }

    /// A block in a file that nobody can change.
    pub(crate) fn sealed(&self) -> io::Result<Arc<SealedPayload>> {
        if let Some(sealed) = self.sealed.get() {
            return Ok(Arc::clone(sealed));
        }
        let sealed = SealedPayload::new(&self.pattern.bytes(self.block)?)?;
        Ok(Arc::clone(self.sealed.get_or_init(|| Arc::new(sealed))))
    }

    /// A block in memory.
    pub(crate) fn region(&self) -> io::Result<Arc<Region>> {
        if let Some(region) = self.region.get() {
            return Ok(Arc::clone(region));
        }
        let mut region = Region::new(self.block)?;
        region.copy_from_slice(&self.pattern.bytes(self.block)?);
        Ok(Arc::clone(self.region.get_or_init(|| Arc::new(region))))
    }
}

/// Opens what engines need and what a process that gives up its rights to files cannot open
/// later. An engine for which that fails says so when it is made.
pub fn preopen_devices() {
    _ = linux::splice::dev_null();
}
