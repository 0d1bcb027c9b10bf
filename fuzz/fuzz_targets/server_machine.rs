//! What a client can send to a server after its cookie, in pieces of any size.

#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_fuzz::{memory, server};

fuzz_target!(|input: &[u8]| memory::bounded(input.len(), || server::play(input)));
