//! What a server can send to a client, in pieces of any size.

use crate::{client, memory};

/// Judges one input.
pub(super) fn run(input: &[u8]) {
    memory::bounded(input.len(), || client::play(input));
}
