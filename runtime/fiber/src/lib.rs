//! Fibers: functions with stacks of their own, which can be suspended and resumed.
//!
//! ```text
//!   thread    resume ----.        .--> Suspended     resume ----.        .--> Finished
//!                         \      /                               \      /
//!   fiber                  begins . . suspend . . . . . . . . . . . goes on
//! ```
//!
//! A [`Fiber`] runs on a [`Stack`] of a pool ([`Stacks`]): each has a guard page below it, and an
//! overflow ends the process with a sentence. The switch itself is that of the crate corosensei.
//! Who runs when, and what a fiber waits for, is not known here: that is crate `mars`.
//!
//! A fiber that has begun stays on its thread, since its frames may refer to variables of that
//! thread, unless its maker promises that they do not ([`Frames`]). All unsafe code of tasks is here.

#![expect(unsafe_code, reason = "stacks are memory that the compiler does not know")]

mod fiber;
mod overflow;
mod sanitizer;
mod stack;

pub use fiber::{Fiber, Frames, Step, Yielder};
pub use stack::{Stack, StackMemory, Stacks};
