//! The local store of an MPU: memory of the size of its second-level cache, into which tasks get
//! what they work on, and from which they put it back.
//!
//! ```text
//!   memory   | block 0 | block 1 | block 2 | ...
//!                get |        ^ put
//!                    v        |
//!   store    | buffer | buffer |   as large as the cache
//! ```

mod blocks;
mod transfers;

pub use blocks::{Block, Blocks, Buffers, Pieces};
pub use transfers::{Tag, Transfers};

use std::io;
use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;
use std::time::Duration;

use copy::{Choice, Copier, Facts, PROBE_BYTES, Routine};
use linux::memory::{Arena, Part};

use crate::context::Builder;
use crate::task::Task;

/// The local store of an MPU (worker thread): memory of the size of its part of the second-level
/// cache, on a huge page if the kernel grants one. Tasks get blocks into buffers of it, work on
/// these, and put them back ([`Transfers`], [`Blocks`]). Clones refer to the same memory.
///
/// ```
/// use linerate_mars::{Args, Buffers, Builder, Priority, Program, TaskHandle, TaskStacks};
///
/// # fn main() -> std::io::Result<()> {
/// let context = Builder::new(1).tasks(TaskStacks::default()).start()?;
/// let program = Program::new(|task| {
///     let store = task.local_store().expect("memory");
///     let (source, mut squares) = (vec![7; 1 << 20], vec![0; 1 << 20]);
///     let jobs = source.chunks(16 << 10).zip(squares.chunks_mut(16 << 10));
///     let mut blocks = store.blocks(Buffers::Double, jobs).expect("room");
///     while let Some(mut block) = blocks.next() {
///         // While these are computed, the next block is fetched, and the last one stored.
///         for (input, output) in block.pieces(1 << 10, 1 << 10) {
///             input.iter().zip(output).for_each(|(one, square)| *square = one * one);
///         }
///     }
///     drop(blocks);
///     i32::from(squares.iter().any(|square| *square != 49))
/// });
/// let task = TaskHandle::new(&context, "squares", program);
/// task.schedule(Args::default(), Priority::NORMAL);
/// assert_eq!(task.wait().code, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct LocalStore {
    arena: Arena,
    copier: Copier,
}

/// A buffer in a local store, which begins at a multiple of 128 bytes. Dropping it gives it back.
#[derive(Debug)]
pub struct LocalBuffer(Part);

impl Deref for LocalBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for LocalBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl LocalStore {
    /// The store of the MPU that runs the calling thread, of `bytes` bytes.
    fn new(bytes: Option<usize>) -> io::Result<Self> {
        let cpu = linux::host::current_cpu().unwrap_or_default();
        let cache = || linux::topology::second_level_cache(cpu).unwrap_or(CELL);
        let arena = Arena::new(bytes.unwrap_or_else(cache))?;
        Ok(Self { arena, copier: copier(cpu) })
    }

    /// Its size in bytes.
    pub fn size(&self) -> usize {
        self.arena.size()
    }

    /// Bytes that no buffer has. A buffer takes a multiple of 128 bytes.
    pub fn free(&self) -> usize {
        self.arena.free()
    }

    /// The routine by which it copies: the best of this CPU, by a probe of 5 ms at its first use, or
    /// that which the environment variable `COPY_ROUTINE` names.
    pub const fn routine(&self) -> Routine {
        self.copier.routine()
    }

    /// A buffer of `bytes` bytes; its content is what the last one left there. None if there is no
    /// room for it.
    pub fn buffer(&self, bytes: usize) -> Option<LocalBuffer> {
        self.arena.take(bytes).map(LocalBuffer)
    }

    /// Transfers between memory and buffers.
    pub const fn transfers<'a>(&self) -> Transfers<'a> {
        Transfers::new(self.copier)
    }

    /// Takes the blocks of `jobs` through the store: each is a source, and the place for what is
    /// computed of it, which may be empty. None if there is no room for the buffers of the largest.
    pub fn blocks<'a, I>(&self, buffers: Buffers, jobs: I) -> Option<Blocks<'a, I::IntoIter>>
    where
        I: IntoIterator<Item = (&'a [u8], &'a mut [u8])>,
    {
        Blocks::new(self, buffers, jobs.into_iter())
    }
}

/// The routine of a CPU.
fn copier(cpu: usize) -> Copier {
    let named = std::env::var("COPY_ROUTINE").ok();
    let named = named.and_then(|name| name.parse::<Routine>().ok()?.copier());
    named.or_else(|| copy::on(cpu)).unwrap_or_else(|| {
        let (mut to, from) = (vec![0; PROBE_BYTES], vec![1; PROBE_BYTES]);
        let buffers = (to.as_mut_slice(), from.as_slice());
        let clock = &mut linux::clock::monotonic;
        let choice: Choice = copy::choose(Facts::of_architecture(), PROBE, clock, buffers);
        choice.keep(cpu);
        choice.copier
    })
}

/// The stores of a context's MPUs, each made by the first task that asks for it.
#[derive(Debug)]
pub(crate) struct LocalStores {
    bytes: Option<usize>,
    of_mpus: Box<[OnceLock<LocalStore>]>,
}

impl LocalStores {
    pub(crate) fn new(bytes: Option<usize>, mpus: usize) -> Self {
        Self { bytes, of_mpus: (0..mpus).map(|_| OnceLock::new()).collect() }
    }

    fn of(&self, mpu: usize) -> io::Result<LocalStore> {
        let place = &self.of_mpus[mpu];
        if let Some(store) = place.get() {
            return Ok(store.clone());
        }
        let store = LocalStore::new(self.bytes)?;
        Ok(place.get_or_init(|| store).clone())
    }
}

impl Task<'_> {
    /// The local store of its MPU (worker thread), which all tasks of that MPU share. The first call
    /// on an MPU takes some milliseconds: it maps the memory and probes the routines that copy.
    ///
    /// # Errors
    /// `ENOMEM`: there is no memory for it (mmap(2)).
    pub fn local_store(&mut self) -> io::Result<LocalStore> {
        let core = self.core();
        core.shared.local_stores.of(core.index)
    }
}

impl Builder {
    /// Sets the size of each MPU's local store in bytes, instead of its part of the second-level
    /// cache.
    #[must_use]
    pub const fn local_store(mut self, bytes: usize) -> Self {
        self.local_store = Some(bytes);
        self
    }
}

/// Bytes of the local store of Cell's processing units, where the size of the cache is not known.
const CELL: usize = 256 << 10;
/// Time of a probe of the routines that copy.
const PROBE: Duration = Duration::from_millis(5);
