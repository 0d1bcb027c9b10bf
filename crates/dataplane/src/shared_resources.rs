//! The resources that all engines of one test share, on whichever worker they run.

use std::io;
use std::sync::{Arc, OnceLock};

use linux::memory::Region;
use linux::payload::SealedPayload;
use measurement::PayloadPages;

use crate::bulk::Bulk;
use crate::payload::{self, PayloadPattern};
use crate::zerocopy_counters::ZerocopyCounters;

/// What all engines (implementations of sending and receiving) of one test share: the payloads of
/// those that send without copying, made at the first use, and the counters of zero-copy sends.
#[derive(Debug)]
pub struct SharedResources {
    block: usize,
    bulk: Bulk,
    pattern: PayloadPattern,
    pages: Option<PayloadPages>,
    sealed: OnceLock<Arc<SealedPayload>>,
    region: OnceLock<Arc<Region>>,
    zerocopy: Arc<ZerocopyCounters>,
}

impl SharedResources {
    /// Resources for blocks of `block` bytes, at least one, filled with `pattern`.
    pub fn new(block: usize, pattern: PayloadPattern) -> Self {
        let (sealed, region) = (OnceLock::new(), OnceLock::new());
        let (block, zerocopy) = (block.max(1), Arc::default());
        Self { block, bulk: Bulk::of_blocks(block), pattern, pages: None, sealed, region, zerocopy }
    }

    /// Lets TCP streams move `bulk` at once.
    #[must_use]
    pub const fn with_bulk(mut self, bulk: Bulk) -> Self {
        self.bulk = bulk;
        self
    }

    /// Lets TCP streams send from memory on such pages; none: huge ones for large blocks, where the
    /// kernel grants them.
    #[must_use]
    pub const fn with_pages(mut self, pages: Option<PayloadPages>) -> Self {
        self.pages = pages;
        self
    }

    /// How much TCP streams move at once.
    pub const fn bulk(&self) -> &Bulk {
        &self.bulk
    }

    /// The length of a block in bytes.
    pub const fn block(&self) -> usize {
        self.block
    }

    /// The content of the payload blocks.
    pub const fn pattern(&self) -> PayloadPattern {
        self.pattern
    }

    /// The pages of the memory that TCP streams send from.
    pub const fn pages(&self) -> Option<PayloadPages> {
        self.pages
    }

    /// The counters of all zero-copy sends of the test.
    pub const fn zerocopy(&self) -> &Arc<ZerocopyCounters> {
        &self.zerocopy
    }

    /// A block in a sealed memory file (memfd_create(2)), whose content cannot change.
    pub(crate) fn sealed(&self) -> io::Result<Arc<SealedPayload>> {
        if let Some(sealed) = self.sealed.get() {
            return Ok(Arc::clone(sealed));
        }
        let sealed = SealedPayload::new(&self.pattern.bytes(self.block)?)?;
        Ok(Arc::clone(self.sealed.get_or_init(|| Arc::new(sealed))))
    }

    /// A block in memory of its own.
    pub(crate) fn region(&self) -> io::Result<Arc<Region>> {
        if let Some(region) = self.region.get() {
            return Ok(Arc::clone(region));
        }
        let mut region = payload::region(self.pages, self.block)?;
        region.copy_from_slice(&self.pattern.bytes(self.block)?);
        Ok(Arc::clone(self.region.get_or_init(|| Arc::new(region))))
    }
}

/// Opens the devices that engines need (`/dev/null`, for the engine `splice`). A process calls it
/// before it gives up its access to files. If it fails, building that engine reports the error.
pub fn preopen_devices() {
    _ = linux::splice::dev_null();
}
