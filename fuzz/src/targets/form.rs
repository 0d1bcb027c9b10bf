//! Any form in a token that was sealed with the right key.
//!
//! A form that is the peer's own words is admitted exactly if they are true. The first byte
//! says how it is padded, by being odd or even.

use crate::admission::{admits, is_true, sealed};
use crate::memory;
use authentication::Padding;

/// Judges one input.
pub(super) fn run(input: &[u8]) {
    memory::bounded(input.len(), || judge(input));
}

fn judge(input: &[u8]) {
    let Some((first, form)) = input.split_first() else { return };
    let padding = if first % 2 == 1 { Padding::Pkcs1 } else { Padding::Oaep };
    if let Some(token) = sealed(form, padding) {
        assert_eq!(admits(&token, padding), is_true(form));
    }
}
