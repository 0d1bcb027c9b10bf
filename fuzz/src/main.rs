//! The program of libFuzzer, which gives one target the inputs that it makes.
//!
//! The variable `LINERATE_FUZZ_TARGET` names the target. One program for all of them is linked once.

#![no_main]

use std::env;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use linerate_fuzz::{TARGETS, Target};

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = env::var("LINERATE_FUZZ_TARGET").expect("LINERATE_FUZZ_TARGET names a target");
    *TARGETS.iter().find(|target| target.name == name).expect("a target of this name")
});

fuzz_target!(|input: &[u8]| (TARGET.run)(input));
