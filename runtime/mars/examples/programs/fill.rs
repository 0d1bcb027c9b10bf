//! Very many tasks at once, of random priorities; and of those that are ready, the most urgent one
//! begins first.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;

use linerate_mars::{
    Args, Clearing, Context, EventFlag, Masking, Placement, Priority, Program, TaskHandle,
};

use super::{Extent, Seen, begin, verdict};

pub(crate) fn run(context: &Context, extent: Extent) -> Seen {
    let count = extent.of(2_000, 100_000);
    let begun = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&begun);
    let program = Program::new(move |_| {
        counted.fetch_add(1, SeqCst);
        0
    });
    let task = |_| TaskHandle::new(context, "", program.clone());
    let tasks: Vec<_> = (0..count).map(task).collect();
    let mut rng = fastrand::Rng::with_seed(1);
    for task in &tasks {
        begin(task, Priority(rng.u8(..)));
    }
    let is_right = tasks.iter().all(|task| task.wait().code == 0) && begun.load(SeqCst) == count;
    let place = place_of_most_urgent(context);
    let text = format!("{count} tasks ended; of 101 the most urgent began as number {place}");
    verdict(is_right && place == 1, text)
}

/// The place of a task of priority 255 among a hundred of priority 0 that were ready before it.
fn place_of_most_urgent(context: &Context) -> u32 {
    let begun = Arc::new(AtomicU32::new(0));
    let gate = Arc::new(EventFlag::new(context, Clearing::Manual));
    let (mut tasks, placed) = (Vec::new(), Arc::clone(&begun));
    for _ in 0..=100 {
        let begun = Arc::clone(&begun);
        let program = Program::new(move |_| {
            i32::try_from(begun.fetch_add(1, SeqCst)).unwrap_or(i32::MAX) + 1
        });
        tasks.push(TaskHandle::new(context, "", program));
    }
    let tasks = Arc::new(tasks);
    let ready = Arc::clone(&tasks);
    let opened = Arc::clone(&gate);
    // It makes all ready on its MPU, which runs none of them meanwhile.
    let starter = Program::new(move |task| {
        if task.block(|mpu| opened.wait(mpu, 1, Masking::All)).is_err() {
            return 1;
        }
        let here = Placement::Mpu(task.mpu_index());
        for (number, one) in ready.iter().enumerate() {
            let priority = Priority(if number == 100 { 255 } else { 0 });
            one.schedule_at(Args::default(), priority, here);
        }
        0
    });
    let starter = TaskHandle::new(context, "starter", starter);
    begin(&starter, Priority::NORMAL);
    gate.set(1);
    _ = starter.wait();
    let codes: Vec<_> = tasks.iter().map(|task| task.wait().code).collect();
    let all = placed.load(SeqCst) == 101;
    codes.last().filter(|_| all).and_then(|code| u32::try_from(*code).ok()).unwrap_or_default()
}
