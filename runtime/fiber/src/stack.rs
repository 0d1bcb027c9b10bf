//! Stacks with guard pages, which are used again.
//!
//! ```text
//!   chunk   | guard | stack 0 | guard | stack 1 | ...      one mapping; stacks grow to the left
//! ```
//!
//! From Linux 6.13 a guard page is an entry of the page table (`MADV_GUARD_INSTALL`, madvise(2)):
//! a million stacks are one mapping. Before, each takes two of the `vm.max_map_count` mappings that
//! a process may have.

use std::io;
use std::num::NonZeroUsize;
use std::ptr::{NonNull, null_mut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use corosensei::stack::StackPointer;

use crate::overflow::{self, Guard};

/// A pool of stacks of one size, of one thread.
#[derive(Debug)]
pub struct Stacks {
    memory: Arc<StackMemory>,
    free: Vec<Free>,
    /// Number of stacks that were taken here, less those that were given here.
    taken: isize,
}

/// Memory for the stacks of several threads, each of which has a pool: a stack that was taken from one
/// may be given to another.
#[derive(Debug)]
pub struct StackMemory {
    /// Bytes of a stack without its guard page.
    size: usize,
    /// Bytes of its guard page.
    page: usize,
    shared: Mutex<SharedMemory>,
}

#[derive(Debug, Default)]
struct SharedMemory {
    chunks: Vec<Chunk>,
    /// Stacks that a pool has too many of.
    spare: Vec<Free>,
    /// Number of stacks that are in use, of those whose pools have ended.
    taken: isize,
}

/// The lowest byte of the guard page of a stack that is free.
#[derive(Clone, Copy, Debug)]
struct Free(NonNull<u8>);

// SAFETY: nobody uses the memory, and it is of no thread.
unsafe impl Send for Free {}

#[derive(Debug)]
struct Chunk {
    base: NonNull<u8>,
    length: usize,
}

// SAFETY: a mapping is of no thread.
unsafe impl Send for Chunk {}

/// A stack of a pool. [`Stacks::give`] gives it back; one that is dropped stays in use for ever.
#[derive(Debug)]
pub struct Stack {
    /// Lowest byte of the guard page.
    base: NonNull<u8>,
    page: usize,
    size: usize,
    /// The address of its [`StackMemory`].
    memory: usize,
}

// SAFETY: it is the only owner of its memory, which no thread-local state refers to.
unsafe impl Send for Stack {}

impl StackMemory {
    /// Memory for stacks of `size` bytes, rounded up to whole pages and at least 4096. It takes memory
    /// only as stacks are taken.
    pub fn new(size: usize) -> Self {
        let page = page_size();
        let size = size.clamp(corosensei::stack::MIN_STACK_SIZE, MOST_SIZE).next_multiple_of(page);
        Self { size, page, shared: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, SharedMemory> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stacks for a pool that has none, and of which `taken` are in use: spare ones, or new ones, as
    /// many as there are, within bounds.
    fn refill(&self, taken: isize, free: &mut Vec<Free>) -> io::Result<()> {
        let mut shared = self.lock();
        let from = shared.spare.len().saturating_sub(MOVED);
        free.extend(shared.spare.drain(from..));
        if !free.is_empty() {
            return Ok(());
        }
        let stride = self.page + self.size;
        let most = (MOST_CHUNK / stride).clamp(FEWEST, MOST_STACKS);
        let wanted = usize::try_from(taken).unwrap_or(0).clamp(FEWEST, most);
        let chunk = Chunk::map(wanted * stride)?;
        let mut result = Ok(());
        // Those whose guard pages cannot be made are left out.
        for index in 0..wanted {
            // SAFETY: the offset lies within the chunk.
            let base = unsafe { chunk.base.add(index * stride) };
            result = guard(base, self.page);
            if result.is_err() {
                break;
            }
            free.push(Free(base));
        }
        // The first one of the chunk is used first.
        free.reverse();
        shared.chunks.push(chunk);
        if free.is_empty() { result } else { Ok(()) }
    }
}

/// Gives the memory back if all stacks are free; else that of those in use must stay.
impl Drop for StackMemory {
    fn drop(&mut self) {
        let shared = self.shared.get_mut().unwrap_or_else(PoisonError::into_inner);
        if shared.taken != 0 {
            return;
        }
        for chunk in &shared.chunks {
            // SAFETY: the chunk is a mapping of this length, and none of its stacks is in use.
            unsafe { libc::munmap(chunk.base.as_ptr().cast(), chunk.length) };
        }
    }
}

impl Stacks {
    /// A pool of stacks of `size` bytes with memory of its own. The thread that calls this handles
    /// their overflows.
    ///
    /// # Errors
    /// `ENOMEM` (mmap(2)).
    pub fn new(size: usize) -> io::Result<Self> {
        Self::of(Arc::new(StackMemory::new(size)))
    }

    /// A pool of stacks in `memory`. The thread that calls this handles their overflows.
    ///
    /// # Errors
    /// `ENOMEM` (mmap(2)).
    pub fn of(memory: Arc<StackMemory>) -> io::Result<Self> {
        overflow::watch_thread()?;
        Ok(Self { memory, free: Vec::new(), taken: 0 })
    }

    /// Bytes of each stack.
    pub fn size(&self) -> usize {
        self.memory.size
    }

    /// A stack that nobody uses, possibly with data of an earlier user.
    ///
    /// # Errors
    /// `ENOMEM` if there is no memory, or, before Linux 6.13, if the process has
    /// `vm.max_map_count` mappings.
    pub fn take(&mut self) -> io::Result<Stack> {
        if self.free.is_empty() {
            self.memory.refill(self.taken, &mut self.free)?;
        }
        let free = self.free.pop().ok_or(io::ErrorKind::OutOfMemory)?;
        self.taken += 1;
        Ok(self.stack(free))
    }

    /// Gives back a stack, for the next one who takes one. One of other memory is not used again.
    pub fn give(&mut self, stack: Stack) {
        if stack.memory != Arc::as_ptr(&self.memory).addr() {
            return;
        }
        self.taken -= 1;
        self.free.push(stack.into_free());
        // Only a pool that is given more than it takes lets others have some.
        if self.taken < 0 && self.free.len() >= 2 * MOVED {
            self.memory.lock().spare.extend(self.free.drain(..MOVED));
        }
    }

    /// The most bytes that any fiber has used of a stack, of those that are free here now: how far
    /// memory differs from zero.
    pub fn high_water(&self) -> usize {
        self.free.iter().map(|free| self.stack(*free).high_water()).max().unwrap_or(0)
    }

    fn stack(&self, free: Free) -> Stack {
        let (size, page) = (self.memory.size, self.memory.page);
        Stack { base: free.0, page, size, memory: Arc::as_ptr(&self.memory).addr() }
    }
}

/// Leaves what it has to others.
impl Drop for Stacks {
    fn drop(&mut self) {
        let mut shared = self.memory.lock();
        shared.taken += self.taken;
        shared.spare.append(&mut self.free);
    }
}

impl Chunk {
    fn map(length: usize) -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping.
        let base = unsafe { libc::mmap(null_mut(), length, protection, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the mapping has this length. A huge page would be resident for stacks that use
        // a page each; a kernel without huge pages refuses, which does not matter.
        unsafe { libc::madvise(base, length, libc::MADV_NOHUGEPAGE) };
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { base, length })
    }
}

/// Makes a page fatal to touch.
fn guard(base: NonNull<u8>, page: usize) -> io::Result<()> {
    let base = base.as_ptr().cast();
    // SAFETY: the page belongs to a chunk, and nothing is stored there.
    let is_guarded = unsafe {
        libc::madvise(base, page, MADV_GUARD_INSTALL) == 0
            || libc::mprotect(base, page, libc::PROT_NONE) == 0
    };
    if is_guarded { Ok(()) } else { Err(io::Error::last_os_error()) }
}

impl Stack {
    /// Bytes that can be used.
    pub const fn size(&self) -> usize {
        self.size
    }

    const fn into_free(self) -> Free {
        Free(self.base)
    }

    /// The guard page.
    pub(crate) fn guard(&self) -> Guard {
        let begin = self.base.addr().get();
        Guard { begin, end: begin + self.page }
    }

    /// Bytes at the top that are left out, so that the first lines of neighbouring stacks are not in
    /// the same set of a cache.
    fn colour(&self) -> usize {
        let number = self.base.addr().get() / (self.page + self.size);
        let is_large = self.size >= 2 * corosensei::stack::MIN_STACK_SIZE;
        if is_large { number % COLOURS * LINE } else { 0 }
    }

    /// The most bytes that were used: how far memory differs from zero.
    fn high_water(&self) -> usize {
        let begin = self.base.addr().get() + self.page;
        let lowest = (0..self.size / self.page).find(|index| {
            // A page that is not resident was never written, and is not to be made so.
            let page = begin + index * self.page;
            let mut is_resident = 0_u8;
            // SAFETY: mincore(2) writes one byte for the one page that it is asked for.
            let result = unsafe { libc::mincore(page as *mut _, self.page, &raw mut is_resident) };
            result == 0 && is_resident & 1 == 1
        });
        let Some(lowest) = lowest else { return 0 };
        let words = (lowest * self.page..self.size).step_by(size_of::<usize>());
        let is_used = |offset: &usize| {
            // SAFETY: the word lies in the stack, which is mapped, aligned and not in use.
            let word = unsafe { self.base.add(self.page + offset).cast::<usize>().read_volatile() };
            word != 0
        };
        words.into_iter().find(is_used).map_or(0, |offset| self.size - offset)
    }
}

// SAFETY: the stack has a guard page, at least `MIN_STACK_SIZE` bytes above it, and is aligned to a
// line.
unsafe impl corosensei::stack::Stack for Stack {
    fn base(&self) -> StackPointer {
        self.base.addr().saturating_add(self.page + self.size - self.colour())
    }

    fn limit(&self) -> StackPointer {
        self.base.addr()
    }
}

fn page_size() -> usize {
    // SAFETY: the call has no preconditions.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).ok().and_then(NonZeroUsize::new).map_or(4096, NonZeroUsize::get)
}

/// `include/uapi/asm-generic/mman-common.h`, from Linux 6.13.
const MADV_GUARD_INSTALL: i32 = 102;
/// Number of stacks that a chunk has at least, and at most.
const FEWEST: usize = 16;
const MOST_STACKS: usize = 1 << 16;
/// Bytes that a chunk takes at most of the address space, unless the fewest stacks take more.
const MOST_CHUNK: usize = 1 << 30;
/// Bytes of a line of most caches, and number of lines by which stacks differ.
const LINE: usize = 64;
const COLOURS: usize = 16;
/// Number of stacks that move between a pool and its memory at once.
const MOVED: usize = 64;
/// Bytes of the largest stack.
const MOST_SIZE: usize = 1 << 30;
