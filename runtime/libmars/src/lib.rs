//! libmars: the calls of MARS 1.1.5 for C, as `include/mars/*.h` declares them, on the runtime of
//! crate `mars`.
//!
//! Each call checks what it was given in the order of its documentation and returns a code
//! (module `code`); what it then does is the runtime's. Whether the host or a task calls is known from
//! the thread (module `current`). Modules and the workload queue of MARS are not part of it.
//!
//! An address that a caller gives is trusted to be of an object of this library, as in MARS: it is
//! checked only for zero, alignment and the mark of its kind.

#![expect(unsafe_code, reason = "pointers of callers in C")]
#![expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the lifetime of a task is that of one call"
)]
#![expect(non_camel_case_types, reason = "types have the names of the headers")]

pub mod barrier;
pub mod base;
mod code;
pub mod context;
pub mod copies;
mod current;
pub mod event_flag;
pub mod mutex;
mod object;
pub mod queue;
pub mod semaphore;
pub mod signal;
pub mod table;
pub mod task;
