//! Any form in a token that was sealed with the right key.
//!
//! A form that is the peer's own words is admitted exactly if they are true. The first byte
//! says how it is padded, by being odd or even.

#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_authentication::Padding;
use linerate_fuzz::admission::{admits, is_true, sealed};
use linerate_fuzz::memory;

fuzz_target!(|input: &[u8]| memory::bounded(input.len(), || judge(input)));

fn judge(input: &[u8]) {
    let Some((first, form)) = input.split_first() else { return };
    let padding = if first % 2 == 1 { Padding::Pkcs1 } else { Padding::Oaep };
    if let Some(token) = sealed(form, padding) {
        assert_eq!(admits(&token, padding), is_true(form));
    }
}
