//! What a server can send to a client, in pieces of any size.

#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_fuzz::{client, memory};

fuzz_target!(|input: &[u8]| memory::bounded(input.len(), || client::play(input)));
