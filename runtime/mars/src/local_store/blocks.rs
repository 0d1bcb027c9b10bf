//! Blocks that pass a local store one after another: single, double and triple buffering.

use std::collections::VecDeque;
use std::iter::Peekable;
use std::slice::{Chunks, ChunksMut};

use crate::local_store::{LocalBuffer, LocalStore, Tag, Transfers};

/// Number of buffers through which blocks pass a local store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffers {
    /// A block is fetched, computed and stored, before the next one is fetched.
    Single,
    /// The next block is fetched and the last one stored while one is computed.
    Double,
    /// As [`Self::Double`], with two blocks that are fetched ahead.
    Triple,
}

impl Buffers {
    const fn count(self) -> usize {
        match self {
            Self::Single => 1,
            Self::Double => 2,
            Self::Triple => 3,
        }
    }
}

/// Blocks on their way through a local store ([`LocalStore::blocks`]).
///
/// ```text
///               Single                        Double
///   get     | 0 |           | 1 |         | 0 | 1 | 2 | 3 |
///   work        | 0 |           | 1 |         | 0 | 1 | 2 | 3 |
///   put             | 0 |           | 1 |         | 0 | 1 | 2 | 3 |
/// ```
///
/// Dropping it before [`Self::next`] has returned none loses the results that were not stored yet.
pub struct Blocks<'a, I: Iterator> {
    jobs: Peekable<I>,
    transfers: Transfers<'a>,
    is_single: bool,
    /// Buffers for sources and for results that are free. Empty until the first block.
    inputs: Vec<LocalBuffer>,
    outputs: Vec<LocalBuffer>,
    /// The blocks that are fetched, the next one first: length of the source, and place of the result.
    fetched: VecDeque<(usize, &'a mut [u8])>,
    current: Option<Current<'a>>,
}

/// The block that is computed.
#[derive(Debug)]
struct Current<'a> {
    input: LocalBuffer,
    length: usize,
    output: LocalBuffer,
    destination: &'a mut [u8],
}

impl<'a, I: Iterator<Item = (&'a [u8], &'a mut [u8])>> Blocks<'a, I> {
    /// The first block has to be the largest.
    pub(super) fn new(store: &LocalStore, buffers: Buffers, jobs: I) -> Option<Self> {
        let mut jobs = jobs.peekable();
        let (input, output) = jobs.peek().map_or((0, 0), |(from, to)| (from.len(), to.len()));
        let several = |bytes: usize, count: usize| -> Option<Vec<_>> {
            (0..count).map(|_| store.buffer(bytes)).collect()
        };
        Some(Self {
            inputs: several(input, buffers.count())?,
            outputs: several(output, buffers.count().min(2))?,
            jobs,
            transfers: store.transfers(),
            is_single: buffers == Buffers::Single,
            fetched: VecDeque::new(),
            current: None,
        })
    }

    /// The next block, when it has been fetched; none: all have been computed and stored.
    ///
    /// # Panics
    /// If a block is larger than the first one.
    #[expect(clippy::should_implement_trait, reason = "a block is lent until the next one")]
    pub fn next(&mut self) -> Option<Block<'_, 'a>> {
        self.store_current();
        self.fetch();
        let Some((length, destination)) = self.fetched.pop_front() else {
            while self.complete_put() {}
            return None;
        };
        let input = self.transfers.wait(GET)?;
        if self.outputs.is_empty() {
            self.complete_put();
        }
        let output = self.outputs.pop()?;
        let current = self.current.insert(Current { input, length, output, destination });
        Some(Block { current, transfers: &mut self.transfers })
    }

    fn store_current(&mut self) {
        let Some(current) = self.current.take() else { return };
        self.inputs.push(current.input);
        self.transfers.put(current.output, current.destination, PUT);
        if self.is_single {
            self.complete_put();
        }
    }

    fn complete_put(&mut self) -> bool {
        let output = self.transfers.wait(PUT);
        let was_one = output.is_some();
        self.outputs.extend(output);
        was_one
    }

    fn fetch(&mut self) {
        while !self.inputs.is_empty()
            && let Some((source, destination)) = self.jobs.next()
            && let Some(buffer) = self.inputs.pop()
        {
            self.transfers.get(buffer, source, GET);
            self.fetched.push_back((source.len(), destination));
        }
    }
}

/// A block in the local store: what was fetched, and the place for what is computed of it.
#[derive(Debug)]
pub struct Block<'b, 'a> {
    current: &'b mut Current<'a>,
    transfers: &'b mut Transfers<'a>,
}

impl<'a> Block<'_, 'a> {
    /// What was fetched, and the place for the result, which is stored as a whole.
    pub fn both(&mut self) -> (&[u8], &mut [u8]) {
        let Current { input, length, output, destination } = &mut *self.current;
        (&input[..*length], &mut output[..destination.len()])
    }

    /// The same in pieces of so many bytes each, the last of which may be shorter. Between two pieces,
    /// transfers of other blocks go on: with pieces of 512 bytes to 2 KiB the core fetches from memory
    /// while it computes.
    ///
    /// # Panics
    /// If a piece of either has no bytes.
    pub fn pieces(&mut self, input: usize, output: usize) -> Pieces<'_, 'a> {
        let Current { input: from, length, output: to, destination } = &mut *self.current;
        Pieces {
            bytes: input,
            inputs: from[..*length].chunks(input),
            outputs: to[..destination.len()].chunks_mut(output),
            transfers: self.transfers,
        }
    }
}

/// Pieces of a block ([`Block::pieces`]).
#[derive(Debug)]
pub struct Pieces<'b, 'a> {
    bytes: usize,
    inputs: Chunks<'b, u8>,
    outputs: ChunksMut<'b, u8>,
    transfers: &'b mut Transfers<'a>,
}

impl<'b> Iterator for Pieces<'b, '_> {
    type Item = (&'b [u8], &'b mut [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let input = self.inputs.next()?;
        self.transfers.advance(self.bytes);
        Some((input, self.outputs.next().unwrap_or_default()))
    }
}

/// Tags of the transfers. The buffers of one tag are used in turns.
const GET: Tag = Tag::new(0).expect("below 32");
const PUT: Tag = Tag::new(1).expect("below 32");
