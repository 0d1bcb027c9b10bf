//! A semaphore of one token protects a number; one of three lets no more than three in.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use linerate_mars::{Context, Semaphore, Task, TaskError};

use super::{Extent, Seen, several, verdict};

/// What the tasks share.
struct Shared {
    one: Semaphore,
    three: Semaphore,
    /// Not added to atomically.
    number: AtomicU64,
    inside: AtomicU64,
    most: AtomicU64,
}

pub(crate) fn run(context: &Context, extent: Extent) -> Seen {
    let rounds = extent.of(500, 10_000);
    let shared = Arc::new(Shared {
        one: Semaphore::new(context, 1),
        three: Semaphore::new(context, 3),
        number: AtomicU64::new(0),
        inside: AtomicU64::new(0),
        most: AtomicU64::new(0),
    });
    let seen = Arc::clone(&shared);
    super::run(
        context,
        several(TASKS, move |task, _| i32::from(count(task, &shared, rounds).is_err())),
    )?;
    let (number, most) = (seen.number.load(SeqCst), seen.most.load(SeqCst));
    let is_right = number == TASKS as u64 * rounds && (1..=3).contains(&most);
    verdict(
        is_right,
        format!("counted to {number}; at most {most} of {TASKS} tasks were inside of 3"),
    )
}

fn count(task: &mut Task<'_>, shared: &Shared, rounds: u64) -> Result<(), TaskError> {
    for _ in 0..rounds {
        task.block(|mpu| shared.one.acquire(mpu))?;
        shared.number.store(shared.number.load(Relaxed) + 1, Relaxed);
        shared.one.release();
    }
    for _ in 0..10 {
        task.block(|mpu| shared.three.acquire(mpu))?;
        shared.most.fetch_max(shared.inside.fetch_add(1, SeqCst) + 1, SeqCst);
        task.yield_now()?;
        shared.inside.fetch_sub(1, SeqCst);
        shared.three.release();
    }
    Ok(())
}

const TASKS: usize = 40;
