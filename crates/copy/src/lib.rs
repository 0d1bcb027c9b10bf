//! Copies of memory by a routine of the caller's choice ([`Routine`]), and the choice of the best
//! for a core ([`choose()`]).
//!
//! No I/O and no clock: who chooses brings the time. Every routine copies any bytes at any
//! alignment; they differ in which accesses they make of it, and so in speed.

#![no_std]
#![expect(unsafe_code, reason = "copies through pointers and instructions of one architecture")]
#![expect(clippy::inline_always, reason = "the loops of a routine are in one function")]
#![expect(clippy::cast_ptr_alignment, reason = "who casts has aligned, or accesses any address")]

#[cfg(feature = "std")]
extern crate std;

#[cfg(target_arch = "aarch64")]
mod arm;
mod choose;
mod part;
mod plain;
mod prefetch;
#[cfg(target_arch = "riscv64")]
mod risc_v;
mod routine;
mod shift;
mod small;
mod unaligned;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use choose::{Case, Choice, Facts, Misaligned, PROBE_BYTES, choose, on};
pub use prefetch::prefetch;
pub use routine::{Copier, Overlap, Routine};
