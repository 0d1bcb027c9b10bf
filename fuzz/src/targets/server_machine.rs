//! What a client can send to a server after its cookie, in pieces of any size.

use crate::{memory, server};

/// Judges one input.
pub(super) fn run(input: &[u8]) {
    memory::bounded(input.len(), || server::play(input));
}
