//! Any text in place of a client's token.

#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_authentication::Padding;
use linerate_fuzz::admission::admits;
use linerate_fuzz::memory;

fuzz_target!(|text: &str| {
    for padding in [Padding::Oaep, Padding::Pkcs1] {
        // The corpus has true ones: what must be said of either kind is asserted there.
        memory::bounded(text.len(), || admits(text, padding));
    }
});
