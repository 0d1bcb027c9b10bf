//! One region that is handed out in parts ([`Arena`]).

use std::io;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Region;

/// A region of memory ([`Region`]) that is handed out in parts, each of which belongs to whom it was
/// given until it is dropped. Clones refer to the same region.
#[derive(Clone, Debug)]
pub struct Arena {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    region: Region,
    /// Parts that nobody has, in the order of their places; no two of them touch.
    free: Mutex<Vec<Span>>,
}

/// Place and length in the region, both multiples of [`ARENA_ALIGN`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    start: usize,
    length: usize,
}

impl Arena {
    /// An arena of `length` zeroed bytes, rounded up to a multiple of [`ARENA_ALIGN`]; on huge pages
    /// if it is large and the kernel grants some.
    ///
    /// # Errors
    /// As [`Region::new`].
    pub fn new(length: usize) -> io::Result<Self> {
        let length = length.next_multiple_of(ARENA_ALIGN);
        let free = Mutex::new(vec![Span { start: 0, length }]);
        Ok(Self { inner: Arc::new(Inner { region: Region::new(length)?, free }) })
    }

    /// Bytes of all parts together.
    pub fn size(&self) -> usize {
        self.inner.region.length
    }

    /// Bytes that nobody has. A part takes a multiple of [`ARENA_ALIGN`].
    pub fn free(&self) -> usize {
        self.inner.lock().iter().map(|span| span.length).sum()
    }

    /// A part of `length` bytes, which begins at a multiple of [`ARENA_ALIGN`]; its content is that
    /// of whoever had it before. None if no free part is that long.
    pub fn take(&self, length: usize) -> Option<Part> {
        let whole = length.max(1).checked_next_multiple_of(ARENA_ALIGN)?;
        let mut free = self.inner.lock();
        let place = free.iter().position(|span| span.length >= whole)?;
        let start = free[place].start;
        free[place] = Span { start: start + whole, length: free[place].length - whole };
        if free[place].length == 0 {
            free.remove(place);
        }
        drop(free);
        Some(Part { inner: Arc::clone(&self.inner), span: Span { start, length: whole }, length })
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, Vec<Span>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes back what a part had, and joins it to free neighbours.
    fn give(&self, span: Span) {
        let mut free = self.lock();
        let place = free.partition_point(|one| one.start < span.start);
        free.insert(place, span);
        for first in [place, place.wrapping_sub(1)] {
            if let Some([one, next]) = free.get(first..).and_then(<[_]>::first_chunk).copied()
                && one.start + one.length == next.start
            {
                free[first].length += next.length;
                free.remove(first + 1);
            }
        }
    }
}

/// Part of an [`Arena`]: so many bytes that nobody else has. Dropping it gives them back.
#[derive(Debug)]
pub struct Part {
    inner: Arc<Inner>,
    span: Span,
    length: usize,
}

impl Deref for Part {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the span lies in the region, which lives as long as `inner` and is initialised;
        // no other part has any of it, and nobody refers to the region as a whole.
        unsafe {
            let start = self.inner.region.start.as_ptr().add(self.span.start);
            std::slice::from_raw_parts(start, self.length)
        }
    }
}

impl DerefMut for Part {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above; this part is borrowed for it alone, and the memory is writable.
        unsafe {
            let start = self.inner.region.start.as_ptr().add(self.span.start);
            std::slice::from_raw_parts_mut(start, self.length)
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.inner.give(self.span);
    }
}

/// Bytes to whose multiples parts are aligned: two cache lines of most CPUs, which prefetchers take
/// together.
pub const ARENA_ALIGN: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_aligned_apart_and_all_that_there_is() {
        let arena = Arena::new(1_000).expect("mapped");
        assert_eq!((arena.size(), arena.free()), (1_024, 1_024));
        let mut parts: Vec<_> = (0..8).filter_map(|_| arena.take(100)).collect();
        assert_eq!((parts.len(), arena.free()), (8, 0));
        assert!(arena.take(1).is_none());
        for (part, value) in parts.iter_mut().zip(1..) {
            assert_eq!((part.len(), part.as_ptr() as usize % ARENA_ALIGN), (100, 0));
            part.fill(value);
        }
        assert!(parts.iter().zip(1..).all(|(part, value)| part.iter().all(|byte| *byte == value)));
    }

    #[test]
    fn what_is_given_back_joins_its_neighbours() {
        let arena = Arena::new(4 * ARENA_ALIGN).expect("mapped");
        for order in [[0_usize, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2], [2, 0, 3, 1]] {
            let take = |_| arena.take(ARENA_ALIGN);
            let mut parts: Vec<_> = (0..4).map(take).collect();
            for place in order {
                parts[place] = None;
            }
            assert_eq!(arena.inner.lock().as_slice(), [Span { start: 0, length: 512 }]);
        }
    }

    #[test]
    fn parts_live_longer_than_the_arena_and_end_on_any_thread() {
        let arena = Arena::new(1 << 20).expect("mapped");
        let mut part = arena.take(1 << 20).expect("all of it");
        assert!(arena.take(0).is_none() && arena.take(usize::MAX).is_none());
        let rest = arena.clone();
        drop(arena);
        std::thread::spawn(move || part.fill(1)).join().expect("it is ours");
        assert_eq!(rest.free(), 1 << 20);
    }
}
