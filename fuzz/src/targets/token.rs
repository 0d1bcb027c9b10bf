//! Any text in place of a client's token.

use crate::admission::admits;
use crate::memory;
use authentication::Padding;

/// Judges one input.
pub(super) fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    for padding in [Padding::Oaep, Padding::Pkcs1] {
        // The corpus has true ones: what must be said of either kind is asserted there.
        memory::bounded(text.len(), || admits(text, padding));
    }
}
