//! A cooperative runtime: its worker threads (MPUs) fetch workloads, which are state machines,
//! themselves, and never sleep while one is ready.
//!
//! ```text
//!   host                       context
//!   add, schedule ----> [ workload queue ]  by priority, then age
//!                          |           |
//!                        pull         pull
//!                          v           v
//!                       MPU 0       MPU 1        pinned threads
//!                      .-------.   .-------.
//!                      | ready |   | ready |     ready workloads of this MPU
//!                      | wheel |   | wheel |     deadlines
//!                      | epoll |   | epoll |     descriptors
//!                      | inbox |   | inbox |<--- objects and host threads end waits
//!                      '-------'   '-------'
//! ```
//!
//! The model is MARS, the multicore application runtime system that Sony wrote for the Cell
//! processor: work is not dispatched to a processing unit (MPU). Each MPU runs a small
//! resident kernel that takes the best ready workload, runs it until it yields, stalls or
//! finishes, and takes the next. A stalled workload costs nothing until its wait ends.
//!
//! - A [`Workload`] is a machine without a stack. Its kind has a [`Module`]: what each MPU
//!   keeps for all workloads of that kind, such as one hot buffer.
//! - A [`Context`] has the MPUs. A workload that is added to it is *finished* until it is
//!   scheduled, and may be scheduled again, without an allocation, whenever it has finished.
//! - It stalls for the readiness of a descriptor, for a deadline, or for an object:
//!   [`Barrier`], [`EventFlag`], [`Mutex`], [`Queue`], [`Semaphore`], a signal, the end of
//!   another workload. Each wait has its own token, so that nothing that was meant for one wait can
//!   end another.
//! - What has watched a descriptor, or was placed on an MPU, stays there: no stealing. All
//!   else goes to whichever MPU is free; what a workload alone wakes goes on where that one
//!   runs, after its turn, so that turns are to be short.
//! - An MPU without work sleeps, on a word of memory or on its descriptors. Only one that
//!   sleeps is woken.
//!
//! With the feature `tasks` a workload may also be a function with a stack of its own, which waits
//! where it stands: see [`TaskHandle`].
//!
//! No network code is in here, and no limit but memory.

#![forbid(unsafe_code)]
#![cfg_attr(loom, expect(dead_code, reason = "only parts of it are modelled"))]

mod atomic;
mod inbox;
mod ready;
mod sleep_state;
mod wait_token;

#[cfg(all(test, loom))]
mod models;

#[cfg(not(loom))]
mod account;
#[cfg(not(loom))]
mod cache_line;
#[cfg(not(loom))]
mod context;
#[cfg(not(loom))]
mod estimate;
#[cfg(not(loom))]
mod futex_event;
#[cfg(not(loom))]
mod handle;
#[cfg(all(feature = "tasks", not(loom)))]
mod host_calls;
#[cfg(not(loom))]
mod kernel;
#[cfg(all(feature = "tasks", not(loom)))]
mod local_store;
#[cfg(not(loom))]
mod locals;
#[cfg(not(loom))]
mod mpu;
#[cfg(not(loom))]
mod object;
#[cfg(not(loom))]
mod shared;
#[cfg(not(loom))]
mod table;
#[cfg(all(feature = "tasks", not(loom)))]
mod task;
#[cfg(not(loom))]
mod time;
#[cfg(not(loom))]
mod waiter;
#[cfg(not(loom))]
mod wake_cost;
#[cfg(not(loom))]
mod wake_latency;
#[cfg(not(loom))]
mod wheel;
#[cfg(not(loom))]
mod workload;

#[cfg(not(loom))]
pub use {
    account::{KindUse, Utilisation},
    context::{Builder, Context, Workloads},
    handle::{Handle, Scheduling},
    mpu::Mpu,
    object::{
        Barrier, Clearing, EntryQueue, EventFlag, Masking, Mutex, Queue, QueueEntry, Semaphore,
    },
    time::Time,
    waiter::Ticket,
    workload::{Ending, Module, Next, Placement, Priority, Wait, Workload},
};

/// Its code is tested.
#[cfg(all(doctest, feature = "tasks"))]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(all(feature = "tasks", not(loom)))]
pub use {
    fiber::Frames,
    local_store::{Block, Blocks, Buffers, LocalBuffer, LocalStore, Pieces, Tag, Transfers},
    task::{Args, Exit, Program, StackUse, Task, TaskError, TaskHandle, TaskStacks},
};
