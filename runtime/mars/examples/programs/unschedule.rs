//! Tasks that are ready, wait or run are unscheduled, and do not go on.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;

use linerate_mars::{Args, Context, Ending, Placement, Priority, Program, Semaphore, TaskHandle};

use super::{Extent, Seen, verdict};

/// What the tasks share.
struct Shared {
    never: Semaphore,
    begun: AtomicU32,
    may_stop: AtomicU32,
    went_on: AtomicU32,
}

pub(crate) fn run(context: &Context, extent: Extent) -> Seen {
    let rounds = extent.of(100, 1_000);
    let shared = Arc::new(Shared {
        never: Semaphore::new(context, 0),
        begun: AtomicU32::new(0),
        may_stop: AtomicU32::new(0),
        went_on: AtomicU32::new(0),
    });
    let mut wrong = 0;
    for round in 0..rounds {
        wrong += u32::from(!while_it_waits(context, &shared, round));
    }
    for round in 0..rounds / 20 {
        wrong += u32::from(!while_it_runs(context, &shared, round));
    }
    let went_on = shared.went_on.load(SeqCst);
    let text = format!(
        "{rounds} that wait, {0} that run and {0} that are ready: {wrong} ended wrongly, {went_on} \
         went on",
        rounds / 20
    );
    verdict(wrong == 0 && went_on == 0, text)
}

fn start(context: &Context, program: Program) -> TaskHandle {
    let task = TaskHandle::new(context, "", program);
    // One MPU, which is held by whoever runs.
    task.schedule_at(Args::default(), Priority::NORMAL, Placement::Mpu(0));
    task
}

fn spin_until(is_so: impl Fn() -> bool) {
    while !is_so() {
        std::thread::yield_now();
    }
}

/// Whether it ends as it should, with this code.
fn ends(task: &TaskHandle, code: i32) -> bool {
    let exit = task.wait();
    (exit.ending, exit.code) == (Ending::Unscheduled, code) && !task.unschedule(1)
}

fn while_it_waits(context: &Context, shared: &Arc<Shared>, code: i32) -> bool {
    let (before, waits) = (shared.begun.load(SeqCst), Arc::clone(shared));
    let task = start(
        context,
        Program::new(move |task| {
            waits.begun.fetch_add(1, SeqCst);
            if task.block(|mpu| waits.never.acquire(mpu)).is_ok() {
                waits.went_on.fetch_add(1, SeqCst);
            }
            0
        }),
    );
    spin_until(|| shared.begun.load(SeqCst) > before);
    task.unschedule(code) && ends(&task, code)
}

fn while_it_runs(context: &Context, shared: &Arc<Shared>, code: i32) -> bool {
    let (before, runs) = (shared.begun.load(SeqCst), Arc::clone(shared));
    shared.may_stop.store(0, SeqCst);
    let program = Program::new(move |task| {
        runs.begun.fetch_add(1, SeqCst);
        spin_until(|| runs.may_stop.load(SeqCst) == 1);
        if task.yield_now().is_ok() {
            runs.went_on.fetch_add(1, SeqCst);
        }
        0
    });
    let running = start(context, program);
    spin_until(|| shared.begun.load(SeqCst) > before);
    let went_on = Arc::clone(shared);
    let ready = start(
        context,
        Program::new(move |_| {
            went_on.went_on.fetch_add(1, SeqCst);
            0
        }),
    );
    let are_ended = ready.unschedule(code + 1) && running.unschedule(code);
    shared.may_stop.store(1, SeqCst);
    are_ended && ends(&ready, code + 1) && ends(&running, code)
}
