//! A task calls a slow function of the host, on the only MPU that it shares with another task.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use linerate_mars::{Args, Context, Placement, Priority, Program, Task, TaskHandle, Time};

use super::{Extent, Seen, verdict};

#[derive(Default)]
struct Shared {
    turns: AtomicU64,
    is_done: AtomicBool,
}

pub(crate) fn run(context: &Context, extent: Extent) -> Seen {
    let calls = extent.of(5, 50);
    let shared = Arc::new(Shared::default());
    let (seen, counted) = (Arc::clone(&shared), Arc::clone(&shared));
    let caller = Program::new(move |task| {
        let (idle, slept) = (
            turns_of(task, &seen, sleep),
            turns_of(task, &seen, |task| {
                (0..calls).all(|number| task.call_host(move || slow(number)) == Ok(number + 1))
            }),
        );
        seen.is_done.store(true, SeqCst);
        // In thousandths of the turns of the other task while this one sleeps.
        match (idle, slept) {
            (Some(idle), Some(slept)) => saturated(1_000.0 * slept / idle.max(1.0)),
            _ => -1,
        }
    });
    let other = Program::new(move |task| {
        while !counted.is_done.load(SeqCst) {
            counted.turns.fetch_add(1, SeqCst);
            if task.yield_now().is_err() {
                return 1;
            }
        }
        0
    });
    let [other, caller] = [other, caller].map(|program| {
        let task = TaskHandle::new(context, "", program);
        task.schedule_at(Args::default(), Priority::NORMAL, Placement::Mpu(0));
        task
    });
    let (code, other) = (caller.wait().code, other.wait().code);
    let text = format!(
        "{calls} calls of 1 ms; meanwhile the other task goes on at {:.0} % of its speed",
        f64::from(code) / 10.0
    );
    // Far less than all: the machine may be busy.
    verdict(code >= 250 && other == 0, text)
}

/// Turns of the other task for each second that `wait` takes; none: that failed.
fn turns_of(
    task: &mut Task<'_>,
    shared: &Shared,
    wait: impl FnOnce(&mut Task<'_>) -> bool,
) -> Option<f64> {
    let (turns, begin) = (shared.turns.load(SeqCst), Time::now());
    let is_right = wait(task);
    let turns = shared.turns.load(SeqCst) - turns;
    is_right.then(|| turns as f64 / Time::now().since(begin).as_secs_f64())
}

fn sleep(task: &mut Task<'_>) -> bool {
    let until = task.clock().after(Duration::from_millis(20));
    task.sleep_until(until).is_ok()
}

fn slow(number: u32) -> u32 {
    std::thread::sleep(Duration::from_millis(1));
    number + 1
}

#[expect(clippy::cast_possible_truncation, reason = "saturates")]
const fn saturated(number: f64) -> i32 {
    number as i32
}
