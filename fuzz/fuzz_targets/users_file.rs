//! Any text in place of a file of users.

#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_authentication::Users;
use linerate_fuzz::memory;

fuzz_target!(|text: &str| {
    memory::bounded(text.len(), || {
        let _ = Users::parse(text);
    });
});
