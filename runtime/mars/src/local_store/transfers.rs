//! Transfers between memory and the buffers of a local store, with tags.

use std::collections::VecDeque;

use copy::Copier;

use crate::local_store::LocalBuffer;

/// Tag of transfers, from 0 to 31, by which they are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(u8);

impl Tag {
    /// The tag of this number; none above 31.
    pub const fn new(number: u8) -> Option<Self> {
        if number < Self::COUNT { Some(Self(number)) } else { None }
    }

    /// Its number.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Number of tags.
    pub const COUNT: u8 = 32;
}

/// Transfers that have begun: a buffer that is transferred belongs to its transfer until that is waited
/// for.
///
/// ```text
///   get(buffer, source, tag) .. advance .. advance .. wait(tag) -> buffer
///   fetch ahead                 copy       copy       copy the rest
/// ```
///
/// An ordinary CPU has no unit that copies for it. A transfer goes on in [`Self::advance`], piece by
/// piece between pieces of work: the core fetches the next piece from memory while it computes. What is
/// left is copied by [`Self::wait`].
///
/// Dropping it drops the buffers of transfers that were not waited for; those are not completed.
#[derive(Debug)]
pub struct Transfers<'a> {
    copier: Copier,
    begun: VecDeque<Transfer<'a>>,
}

#[derive(Debug)]
struct Transfer<'a> {
    tag: Tag,
    buffer: LocalBuffer,
    way: Way<'a>,
    /// Bytes that have been copied.
    done: usize,
}

#[derive(Debug)]
enum Way<'a> {
    Get(&'a [u8]),
    Put(&'a mut [u8]),
}

impl<'a> Transfers<'a> {
    pub(super) const fn new(copier: Copier) -> Self {
        Self { copier, begun: VecDeque::new() }
    }

    /// Begins to copy `source` to the beginning of `buffer`.
    ///
    /// # Panics
    /// If the buffer is shorter than the source. In debug builds also if the source does not begin at
    /// a multiple of 16 bytes, or is 16 bytes or more and no multiple of that: such copies are slower.
    pub fn get(&mut self, buffer: LocalBuffer, source: &'a [u8], tag: Tag) {
        copy::prefetch(&source[..source.len().min(AHEAD)]);
        self.begin(buffer, Way::Get(source), tag);
    }

    /// Begins to copy the beginning of `buffer` to `destination`.
    ///
    /// # Panics
    /// As [`Self::get`], for the destination.
    pub fn put(&mut self, buffer: LocalBuffer, destination: &'a mut [u8], tag: Tag) {
        self.begin(buffer, Way::Put(destination), tag);
    }

    fn begin(&mut self, buffer: LocalBuffer, way: Way<'a>, tag: Tag) {
        let memory: &[u8] = match &way {
            Way::Get(source) => source,
            Way::Put(destination) => destination,
        };
        let length = memory.len();
        assert!(length <= buffer.len(), "{length} bytes for a buffer of {}", buffer.len());
        let at = memory.as_ptr().addr();
        debug_assert!(
            length < ALIGN || (at.is_multiple_of(ALIGN) && length.is_multiple_of(ALIGN)),
            "a transfer of {length} bytes at {at:#x}: both have to be multiples of {ALIGN}"
        );
        self.begun.push_back(Transfer { tag, buffer, way, done: 0 });
    }

    /// Copies the next `bytes` bytes of what was begun to get, and as many of what was begun to put.
    /// To be called between pieces of work.
    pub fn advance(&mut self, bytes: usize) {
        let (mut to_get, mut to_put) = (bytes, bytes);
        for transfer in &mut self.begun {
            let left = match transfer.way {
                Way::Get(_) => &mut to_get,
                Way::Put(_) => &mut to_put,
            };
            *left -= transfer.copy(self.copier, *left);
            if to_get == 0 && to_put == 0 {
                break;
            }
        }
    }

    /// Completes the first of the transfers with this tag that has not been waited for; returns its
    /// buffer. None: there is no such transfer.
    pub fn wait(&mut self, tag: Tag) -> Option<LocalBuffer> {
        let place = self.begun.iter().position(|transfer| transfer.tag == tag)?;
        let mut transfer = self.begun.remove(place)?;
        transfer.copy(self.copier, usize::MAX);
        Some(transfer.buffer)
    }

    /// Number of transfers that have not been waited for.
    pub fn len(&self) -> usize {
        self.begun.len()
    }

    /// Whether all transfers have been waited for.
    pub fn is_empty(&self) -> bool {
        self.begun.is_empty()
    }
}

impl Transfer<'_> {
    /// Copies at most `most` of the bytes that are left; returns how many it copied.
    fn copy(&mut self, copier: Copier, most: usize) -> usize {
        let from = self.done;
        let end = |length: usize| from.saturating_add(most).min(length);
        match &mut self.way {
            Way::Get(source) => {
                self.done = end(source.len());
                let next = end(source.len()).saturating_add(AHEAD.min(most)).min(source.len());
                copy::prefetch(&source[self.done..next]);
                copier.copy(&mut self.buffer[from..self.done], &source[from..self.done]);
            }
            Way::Put(destination) => {
                self.done = end(destination.len());
                copier.copy(&mut destination[from..self.done], &self.buffer[from..self.done]);
            }
        }
        self.done - from
    }
}

/// Bytes to whose multiples transfers are aligned, as on the Cell processor.
const ALIGN: usize = 16;
/// Bytes that are fetched ahead, 16 lines: about as many loads as a core has under way.
const AHEAD: usize = 1 << 10;
