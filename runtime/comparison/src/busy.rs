//! How busy MPUs are while there is always a workload that is ready.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use mars::{Builder, Next, Placement, Priority, Time, Wait};

use crate::calls::calls;
use crate::{Row, Sink, Target, median};

pub(crate) fn rows(sink: Sink) {
    let shares = (0..5).map(|_| share()).collect();
    let row = Row::new("use of an MPU, 4 half-ready workloads each", median(shares), "%");
    sink(row.aims(Target::AtLeast(95.0)));
}

/// Per cent of the time in which the MPU that did less ran.
fn share() -> f64 {
    let context = Builder::new(2).start().expect("starts");
    let stop = Arc::new(AtomicBool::new(false));
    for number in 0..8_u64 {
        let (stop, mut turn) = (Arc::clone(&stop), number);
        let mix = calls(move |mpu| {
            if stop.load(Relaxed) {
                return Next::Finished;
            }
            turn += 1;
            // Half of the time on average, but never in step.
            let end = mpu.clock().after(Duration::from_micros(20 + 13 * (turn % 5)));
            while mpu.clock() < end {
                std::hint::spin_loop();
            }
            Next::Stalled(Wait::until(end.after(Duration::from_micros(20 + 13 * (turn % 7)))))
        });
        context.spawn(mix, Priority::NORMAL, Placement::Anywhere);
    }
    std::thread::sleep(Duration::from_millis(20));
    let (began, before) = (Time::now(), context.utilisation());
    std::thread::sleep(Duration::from_millis(300));
    let after = context.utilisation();
    debug_assert!(Time::now() > began);
    stop.store(true, Relaxed);
    let shares = after.iter().zip(&before).map(|(after, before)| after.since(before).share());
    shares.fold(1.0, f64::min) * 100.0
}
