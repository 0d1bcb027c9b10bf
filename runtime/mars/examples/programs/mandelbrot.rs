//! Rows of very uneven cost, which tasks take from a counter; how busy each MPU was.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use linerate_mars::Context;

use super::{Extent, Seen, least_used, several, verdict};

pub(crate) fn run(context: &Context, extent: Extent) -> Seen {
    let side = extent.of(150, 800);
    let (next, steps) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicU64::new(0)));
    let counted = Arc::clone(&steps);
    let before = context.utilisation();
    let programs = several(4 * context.mpus(), move |task, _| {
        loop {
            let row = next.fetch_add(1, Relaxed);
            if row >= side {
                return 0;
            }
            counted.fetch_add((0..side).map(|x| steps_of(x, row, side)).sum(), Relaxed);
            if task.yield_now().is_err() {
                return 1;
            }
        }
    });
    super::run(context, programs)?;
    let used = least_used(context, &before);
    let expected: u64 =
        (0..side).map(|row| (0..side).map(|x| steps_of(x, row, side)).sum::<u64>()).sum();
    let is_right = steps.load(Relaxed) == expected && used >= extent.of(0.0, 0.95);
    verdict(
        is_right,
        format!("{expected} steps; each MPU was used to at least {:.1} %", 100.0 * used),
    )
}

/// Steps after which a point escapes.
fn steps_of(column: usize, row: usize, side: usize) -> u64 {
    let re = column as f64 / side as f64 * 3.0 - 2.25;
    let im = row as f64 / side as f64 * 2.5 - 1.25;
    let (mut x, mut y) = (0.0, 0.0);
    for step in 0..MOST {
        if x * x + y * y > 4.0 {
            return step;
        }
        (x, y) = (x * x - y * y + re, 2.0 * x * y + im);
    }
    MOST
}

const MOST: u64 = 1_000;
