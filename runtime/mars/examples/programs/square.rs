//! Numbers are squared by vectors of four: blocks are got into the local store, squared there, and put
//! back.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

use linerate_mars::{Buffers, Context, LocalStore};

use super::{Extent, Seen, several, vectors, verdict};

pub(crate) fn run(context: &Context, extent: Extent) -> Seen {
    let differences = vectors::differences();
    if !differences.is_empty() {
        return Err(format!("vectors and plain Rust differ in {differences:?}"));
    }
    let count = extent.of(16_384, 4 << 20);
    let right = Arc::new(AtomicUsize::new(0));
    let found = Arc::clone(&right);
    let programs = several(context.mpus(), move |task, own| {
        let Ok(store) = task.local_store() else { return 1 };
        found.fetch_add(squares(&store, own, count).unwrap_or_default(), SeqCst);
        0
    });
    super::run(context, programs)?;
    let (right, all) = (right.load(SeqCst), count * context.mpus());
    verdict(
        right == all,
        format!("{right} of {all} squares are right; so are 8 operations of vectors"),
    )
}

/// How many of `count` squares are right; none: there is no room in the local store.
fn squares(store: &LocalStore, own: usize, count: usize) -> Option<usize> {
    let number = |place: usize| ((place + own) % 4_096) as f32;
    let source: Vec<u8> = (0..count).flat_map(|place| number(place).to_le_bytes()).collect();
    let mut squares = vec![0; source.len()];
    let jobs = source.chunks(BLOCK).zip(squares.chunks_mut(BLOCK));
    let mut blocks = store.blocks(Buffers::Double, jobs)?;
    while let Some(mut block) = blocks.next() {
        for (input, output) in block.pieces(PIECE, PIECE) {
            vectors::square(input, output);
        }
    }
    drop(blocks);
    let is_right = |(square, place): (&[u8], usize)| square == number(place).powi(2).to_le_bytes();
    Some(squares.chunks_exact(4).zip(0..).filter(|pair| is_right(*pair)).count())
}

const BLOCK: usize = 16 << 10;
const PIECE: usize = 1 << 10;
