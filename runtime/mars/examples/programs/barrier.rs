//! Four tasks for each MPU meet at a barrier: those that wait must make room for the others.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use linerate_mars::{Barrier, Context};

use super::{Extent, Seen, several, verdict};

pub(crate) fn run(context: &Context, _extent: Extent) -> Seen {
    let count = 4 * context.mpus();
    let barrier = Arc::new(Barrier::new(context, u32::try_from(count).unwrap_or(u32::MAX)));
    let counters: Arc<[_]> = (0..count).map(|_| AtomicU64::new(0)).collect();
    let sums = Arc::clone(&counters);
    let programs = several(count, move |task, own| {
        for cycle in 0..CYCLES {
            let arrived = task.block(|mpu| barrier.notify(mpu));
            // Work between the arrival and the wait.
            sums[own].fetch_add(cycle, Relaxed);
            if arrived.and_then(|()| task.block(|mpu| barrier.wait(mpu))).is_err() {
                return 1;
            }
            // All have arrived in this cycle, and so added in all before.
            if sums.iter().any(|sum| sum.load(Relaxed) < sum_below(cycle)) {
                return 2;
            }
        }
        0
    });
    super::run(context, programs)?;
    let is_right = counters.iter().all(|sum| sum.load(Relaxed) == sum_below(CYCLES));
    verdict(is_right, format!("{count} tasks on {} MPUs, {CYCLES} cycles", context.mpus()))
}

const fn sum_below(cycle: u64) -> u64 {
    cycle * cycle.saturating_sub(1) / 2
}

const CYCLES: u64 = 100;
