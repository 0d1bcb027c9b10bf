//! Run-complete tasks among others: what would have to wait fails, what tries does not, and one that
//! runs for long holds up its own MPU alone.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;

use linerate_mars::{
    Args, Barrier, Clearing, Context, EventFlag, Masking, Placement, Priority, Program, Queue,
    Semaphore, Task, TaskError, TaskHandle,
};

use super::{Extent, Seen, verdict};

struct Objects {
    semaphore: Semaphore,
    barrier: Barrier,
    flag: EventFlag,
    queue: Queue<u32>,
    /// Turns of the tasks that switch.
    turns: AtomicU32,
}

pub(crate) fn run(context: &Context, extent: Extent) -> Seen {
    let count = extent.of(10, 50);
    let objects = Arc::new(Objects {
        semaphore: Semaphore::new(context, 1),
        barrier: Barrier::new(context, 1),
        flag: EventFlag::new(context, Clearing::Automatic),
        queue: Queue::new(context, 1),
        turns: AtomicU32::new(0),
    });
    let (seen, turned) = (Arc::clone(&objects), Arc::clone(&objects));
    let complete = Program::new(move |task| complete(task, &objects)).run_complete();
    let switching = Program::new(move |task| {
        (0..100)
            .try_for_each(|_| {
                turned.turns.fetch_add(1, SeqCst);
                task.yield_now()
            })
            .map_or(1, |()| 0)
    });
    let start = |program: &Program, mpu| {
        let task = TaskHandle::new(context, "", program.clone());
        task.schedule_at(Args::default(), Priority::NORMAL, mpu);
        task
    };
    let long = long(&seen, count * 100);
    let long = start(&long, Placement::Mpu(0));
    // On the other MPU, while that one runs.
    let other = Placement::Mpu(1);
    let others: Vec<_> = (0..count).map(|_| start(&switching, other)).collect();
    let completes: Vec<_> = (0..count).map(|_| start(&complete, other)).collect();
    let codes =
        |tasks: &[TaskHandle]| tasks.iter().map(|task| task.wait().code).collect::<Vec<_>>();
    let (others, completes, long) = (codes(&others), codes(&completes), long.wait().code);
    let first = completes.iter().find(|code| **code != 6);
    let is_right = first.is_none() && others.iter().all(|code| *code == 0) && long == 0;
    let turns = seen.turns.load(SeqCst);
    let text = format!(
        "{count} tasks without a stack, and {turns} turns of {count} others, while one ran"
    );
    verdict(
        is_right,
        if is_right { text } else { format!("exit codes {completes:?}, {others:?}, {long}") },
    )
}

/// A run-complete task that runs until all others have had their turns.
fn long(objects: &Arc<Objects>, turns: u32) -> Program {
    let objects = Arc::clone(objects);
    Program::new(move |_| {
        while objects.turns.load(SeqCst) < turns {
            std::hint::spin_loop();
        }
        0
    })
    .run_complete()
}

/// Exit code 6, or the number of what was not refused, or not done.
fn complete(task: &mut Task<'_>, objects: &Objects) -> i32 {
    let refused = Err(TaskError::RunComplete);
    let waits = [
        task.block(|mpu| objects.semaphore.acquire(mpu)) == refused,
        task.block(|mpu| objects.barrier.notify(mpu)) == refused,
        task.block(|mpu| objects.flag.wait(mpu, 1, Masking::Any)).map(|_| ()) == refused,
        task.block(|mpu| objects.queue.pop(mpu)).map(|_| ()) == refused,
        task.yield_now() == refused,
        task.wait_for_signal() == refused,
        task.call_host(|| ()) == refused,
    ];
    let tries = !task.try_signal() && objects.flag.try_wait(1, Masking::Any).is_none();
    if waits.iter().all(|is_refused| *is_refused) && tries { 6 } else { 7 }
}
