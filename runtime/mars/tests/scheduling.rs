//! The order in which workloads run, and on which MPU.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use linerate_mars::{
    Barrier, Builder, Clearing, Ending, EventFlag, Masking, Next, Placement, Priority, Time,
};

mod support;

use support::{calls, context, ended, eventually};

/// A workload that keeps its MPU busy until the gate opens.
fn gate(open: &Arc<AtomicBool>) -> impl linerate_mars::Workload {
    let open = Arc::clone(open);
    calls(move |_| {
        while !open.load(SeqCst) {
            std::hint::spin_loop();
        }
        Next::Finished
    })
}

#[test]
fn the_highest_runs_next_and_among_equals_the_oldest() {
    for placement in [Placement::Anywhere, Placement::Mpu(0)] {
        let context = context(1);
        let (open, order) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        context.spawn(gate(&open), Priority::HIGHEST, Placement::Anywhere);
        let mut handles = Vec::new();
        for number in 0..101_u32 {
            let order = Arc::clone(&order);
            let mut handle = context.add(calls(move |_| {
                order.lock().expect("lock").push(number);
                Next::Finished
            }));
            let priority = if number == 100 { Priority::HIGHEST } else { Priority::LOWEST };
            handle.schedule_at(priority, placement);
            handles.push(handle);
        }
        open.store(true, SeqCst);
        assert!(handles.iter().all(|handle| ended(handle) == Ending::Finished));
        let expected: Vec<_> = std::iter::once(100).chain(0..100).collect();
        assert_eq!(*order.lock().expect("lock"), expected);
    }
}

#[test]
fn one_that_comes_high_overtakes_all_that_yield() {
    let context = context(1);
    let (stop, turns) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    for _ in 0..100 {
        let (stop, turns) = (Arc::clone(&stop), Arc::clone(&turns));
        let yields = calls(move |_| {
            turns.fetch_add(1, SeqCst);
            if stop.load(SeqCst) { Next::Finished } else { Next::Yield }
        });
        context.spawn(yields, Priority::LOWEST, Placement::Anywhere);
    }
    eventually("all yield", || turns.load(SeqCst) > 200);
    let (seen, first) = (Arc::clone(&turns), Arc::new(AtomicU64::new(0)));
    let noted = Arc::clone(&first);
    // Two turns in a row: between them nobody of the others runs.
    let mut handle = context.add(calls(move |_| {
        let before = noted.swap(seen.load(SeqCst), SeqCst);
        if before == 0 {
            return Next::Yield;
        }
        noted.store(seen.load(SeqCst) - before, SeqCst);
        Next::Finished
    }));
    handle.schedule(Priority::HIGHEST);
    assert_eq!(ended(&handle), Ending::Finished);
    assert_eq!(first.load(SeqCst), 0, "others ran in between");
    stop.store(true, SeqCst);
}

#[test]
fn equals_here_and_in_the_shared_queue_take_turns() {
    let context = context(1);
    let (stop, turns) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let (known, counted) = (Arc::clone(&stop), Arc::clone(&turns));
    let yields = calls(move |_| {
        counted.fetch_add(1, SeqCst);
        if known.load(SeqCst) { Next::Finished } else { Next::Yield }
    });
    context.spawn(yields, Priority::NORMAL, Placement::Mpu(0));
    for _ in 0..1_000 {
        let mut handle = context.add(calls(|_| Next::Finished));
        handle.schedule(Priority::NORMAL);
        assert_eq!(ended(&handle), Ending::Finished);
    }
    let before = turns.load(SeqCst);
    eventually("the one that yields goes on", || turns.load(SeqCst) > before);
    stop.store(true, SeqCst);
}

#[test]
fn a_placed_workload_runs_only_there() {
    let context = context(3);
    let mut handles = Vec::new();
    for number in 0..60_usize {
        let mut left = 50;
        let mut handle = context.add(calls(move |mpu| {
            assert_eq!(mpu.index(), number % 3);
            left -= 1;
            match left {
                0 => Next::Finished,
                _ if left % 2 == 0 => Next::Yield,
                _ => {
                    let soon = mpu.now().after(Duration::from_micros(20));
                    Next::Stalled(linerate_mars::Wait::until(soon))
                }
            }
        }));
        handle.schedule_at(Priority::NORMAL, Placement::Mpu(number % 3));
        handles.push(handle);
    }
    assert!(handles.iter().all(|handle| ended(handle) == Ending::Finished));
}

#[test]
fn ten_thousand_workloads_all_run() {
    let context = context(2);
    let count = Arc::new(AtomicUsize::new(0));
    let barrier = Arc::new(Barrier::new(&context, 10_000));
    let mut handles = Vec::new();
    for _ in 0..10_000 {
        let (count, barrier) = (Arc::clone(&count), Arc::clone(&barrier));
        let mut has_arrived = false;
        let mut handle = context.add(calls(move |mpu| {
            if !has_arrived {
                has_arrived = true;
                if let Err(wait) = barrier.notify(mpu) {
                    return Next::Stalled(wait);
                }
            }
            if let Err(wait) = barrier.wait(mpu) {
                Next::Stalled(wait)
            } else {
                count.fetch_add(1, SeqCst);
                Next::Finished
            }
        }));
        handle.schedule(Priority::NORMAL);
        handles.push(handle);
    }
    assert!(handles.iter().all(|handle| ended(handle) == Ending::Finished));
    assert_eq!(count.load(SeqCst), 10_000);
}

#[test]
fn what_workloads_spawn_runs_once_and_goes() {
    let context = context(2);
    let count = Arc::new(AtomicUsize::new(0));
    let known = Arc::clone(&count);
    let mut spawner = context.add(calls(move |mpu| {
        for _ in 0..5_000 {
            let count = Arc::clone(&known);
            mpu.spawn(
                calls(move |_| {
                    count.fetch_add(1, SeqCst);
                    Next::Finished
                }),
                Priority::NORMAL,
            );
        }
        Next::Finished
    }));
    for round in 1..=3 {
        spawner.schedule(Priority::NORMAL);
        assert_eq!(ended(&spawner), Ending::Finished);
        let end = Time::now().after(support::PATIENCE);
        while count.load(SeqCst) < 5_000 * round && Time::now() < end {
            std::thread::yield_now();
        }
        assert_eq!(count.load(SeqCst), 5_000 * round);
    }
    drop(spawner);
    drop(context);
    assert_eq!(Arc::strong_count(&count), 1, "all that was spawned is gone");
}

#[test]
fn an_idle_mpu_gets_what_is_ready_elsewhere() {
    let context = context(2);
    let flag = Arc::new(EventFlag::new(&context, Clearing::Manual));
    let seen = Arc::new(AtomicUsize::new(0));
    let end = Time::now().after(support::PATIENCE / 2);
    let mut handles = Vec::new();
    for _ in 0..2 {
        let (flag, seen) = (Arc::clone(&flag), Arc::clone(&seen));
        let mut handle = context.add(calls(move |mpu| {
            // With a deadline, so that it stays at its MPU while it waits.
            if let Err(wait) = flag.wait(mpu, 1, Masking::All) {
                return Next::Stalled(wait.or_until(mpu.now().after(Duration::from_secs(100))));
            }
            seen.fetch_or(1 << mpu.index(), SeqCst);
            if seen.load(SeqCst) == 3 || mpu.now() >= end { Next::Finished } else { Next::Yield }
        }));
        handle.schedule(Priority::NORMAL);
        handles.push(handle);
    }
    std::thread::sleep(Duration::from_millis(20));
    flag.set(1);
    assert!(handles.iter().all(|handle| ended(handle) == Ending::Finished));
    assert_eq!(seen.load(SeqCst), 3, "one MPU ran both, in turns");
}

/// After many short workloads, for which it was woken in vain.
#[test]
fn an_idle_mpu_gets_a_part_of_the_first_long_workloads() {
    let context = context(2);
    let (places, left) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
    let round = |count: usize, length: Duration| {
        left.store(count, SeqCst);
        let (known, counted) = (Arc::clone(&places), Arc::clone(&left));
        let spawner = calls(move |mpu| {
            for _ in 0..count {
                let (places, left) = (Arc::clone(&known), Arc::clone(&counted));
                let one = calls(move |mpu| {
                    if !length.is_zero() {
                        std::thread::sleep(length);
                        places.lock().expect("lock").push(mpu.index());
                    }
                    left.fetch_sub(1, SeqCst);
                    Next::Finished
                });
                mpu.spawn(one, Priority::NORMAL);
            }
            Next::Finished
        });
        context.spawn(spawner, Priority::NORMAL, Placement::Anywhere);
        eventually("all have run", || left.load(SeqCst) == 0);
    };
    for _ in 0..50 {
        round(100, Duration::ZERO);
    }
    round(40, Duration::from_millis(5));
    let places = places.lock().expect("lock");
    let on_the_first = places.iter().filter(|place| **place == 0).count();
    assert!((5..=35).contains(&on_the_first), "{places:?}");
}

#[test]
fn work_that_comes_while_an_mpu_spins_does_not_wait_for_its_deadline() {
    let context = context(1);
    let is_over = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&is_over);
    let spinner = calls(move |mpu| {
        if seen.load(SeqCst) {
            return Next::Finished;
        }
        let at = mpu.now().after(Duration::from_micros(15));
        Next::Stalled(linerate_mars::Wait::exactly_until(at))
    });
    let mut spinner = context.add(spinner);
    spinner.schedule(Priority::HIGHEST);
    for _ in 0..100 {
        let mut handle = context.add(calls(|_| Next::Finished));
        handle.schedule(Priority::LOWEST);
        assert_eq!(ended(&handle), Ending::Finished);
    }
    is_over.store(true, SeqCst);
    assert_eq!(ended(&spinner), Ending::Finished);
}

#[test]
fn a_module_that_panics_fails_the_start() {
    struct Broken;
    impl linerate_mars::Module for Broken {
        const NAME: &'static str = "broken";
    }
    let builder = Builder::new(2).module(|index| {
        assert_ne!(index, 1, "on purpose");
        Ok(Broken)
    });
    assert!(builder.start().is_err());
}
