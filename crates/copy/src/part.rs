//! The rest of a copy, and steps that routines share.

/// Source, destination and length of what is still to be copied.
///
/// Its functions ask that as many bytes are left as they copy; who makes one promises that the
/// source is readable, that the destination is writable, and that they do not overlap.
pub(crate) struct Part {
    to: *mut u8,
    from: *const u8,
    left: usize,
}

impl Part {
    pub(crate) const fn new(to: *mut u8, from: *const u8, left: usize) -> Self {
        Self { to, from, left }
    }

    pub(crate) const fn left(&self) -> usize {
        self.left
    }

    pub(crate) const fn source(&self) -> *const u8 {
        self.from
    }

    pub(crate) const fn destination(&self) -> *mut u8 {
        self.to
    }

    /// Bytes from the last word boundary to the source.
    pub(crate) fn source_offset(&self) -> usize {
        self.from.addr() % WORD
    }

    /// Copies byte by byte until the destination is at a word boundary, or nothing is left.
    ///
    /// # Safety
    /// As the type says.
    pub(crate) unsafe fn align_destination(&mut self) {
        let head = self.to.addr().wrapping_neg() % WORD;
        // SAFETY: not more than is left.
        unsafe { self.bytes(head.min(self.left)) };
    }

    /// Copies `count` bytes, one by one.
    ///
    /// # Safety
    /// As the type says.
    pub(crate) unsafe fn bytes(&mut self, count: usize) {
        for place in 0..count {
            // SAFETY: `count` bytes are left. Volatile: else the compiler calls memcpy.
            unsafe {
                let byte = self.from.add(place).read_volatile();
                self.to.add(place).write_volatile(byte);
            }
        }
        // SAFETY: as above.
        unsafe { self.skip(count) };
    }

    /// Copies all that is left, byte by byte.
    ///
    /// # Safety
    /// As the type says.
    pub(crate) unsafe fn rest(&mut self) {
        // SAFETY: as much as is left.
        unsafe { self.bytes(self.left) };
    }

    /// Copies aligned words while at least `N` are left: `N` loads, then `N` stores.
    ///
    /// # Safety
    /// As the type says; and source and destination are at word boundaries.
    pub(crate) unsafe fn words<const N: usize>(&mut self) {
        let rounds = self.left / (N * WORD);
        let mut from = self.from.cast::<usize>();
        let mut to = self.to.cast::<usize>();
        for _ in 0..rounds {
            // SAFETY: `N` words are left in each round, and both are aligned. Volatile: the order
            // is as written, loads first.
            unsafe {
                let words: [usize; N] =
                    core::array::from_fn(|place| from.add(place).read_volatile());
                from = from.add(N);
                for (place, word) in words.into_iter().enumerate() {
                    to.add(place).write_volatile(word);
                }
                to = to.add(N);
            }
        }
        // SAFETY: so much was left.
        unsafe { self.skip(rounds * N * WORD) };
    }

    /// Goes on behind `count` bytes that were copied.
    ///
    /// # Safety
    /// So many are left.
    pub(crate) unsafe fn skip(&mut self, count: usize) {
        // SAFETY: both stay within what they point to, or at its end.
        unsafe {
            self.from = self.from.add(count);
            self.to = self.to.add(count);
        }
        self.left -= count;
    }
}

/// Bytes of a word, which is what one register holds.
pub(crate) const WORD: usize = size_of::<usize>();
