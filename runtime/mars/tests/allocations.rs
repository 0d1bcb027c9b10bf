//! A workload that is scheduled again and again, and whatever it waits for, allocates
//! nothing.

#![deny(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use linerate_mars::{Ending, Next, Placement, Priority, Queue, Wait};

mod support;

use support::{calls, context, ended, eventually};

/// One test: the harness allocates between two.
#[test]
fn nothing_is_allocated_for_ever() {
    nothing_is_allocated_after_the_first_rounds();
    a_workload_may_follow_another_with_a_deadline_for_ever();
}

fn a_workload_may_follow_another_with_a_deadline_for_ever() {
    let context = context(1);
    let forever = linerate_mars::Time::from_nanos(u64::MAX);
    let mut leader = context.add(calls(move |_| Next::Stalled(Wait::until(forever))));
    leader.schedule(Priority::NORMAL);
    let mut left = 0;
    let mut follower = context.add(calls(move |mpu| {
        left += 1;
        match leader.wait_on(mpu) {
            Err(wait) if left % 5_000 != 0 => {
                Next::Stalled(wait.or_until(mpu.now().after(Duration::from_micros(1))))
            }
            _ => Next::Finished,
        }
    }));
    follower.schedule(Priority::NORMAL);
    eventually("it finishes", || follower.try_wait() == Some(Ending::Finished));
    assert_allocates_nothing(|| {
        follower.schedule(Priority::NORMAL);
        assert_eq!(ended(&follower), Ending::Finished);
    });
}

fn nothing_is_allocated_after_the_first_rounds() {
    let context = context(2);
    let queue = Arc::new(Queue::new(&context, 4));
    let known = Arc::clone(&queue);
    let mut turns = 0;
    let mut handle = context.add(calls(move |mpu| {
        turns += 1;
        match turns % 4 {
            1 => Next::Yield,
            2 => Next::Stalled(Wait::until(mpu.now().after(Duration::from_micros(5)))),
            3 => match known.pop(mpu) {
                Ok(_) => Next::Yield,
                Err(wait) => {
                    turns -= 1;
                    Next::Stalled(wait)
                }
            },
            _ => Next::Finished,
        }
    }));
    let mut rounds = |count: usize| {
        for round in 0..count {
            let place =
                if round % 3 == 0 { Placement::Mpu(round % 2) } else { Placement::Anywhere };
            handle.schedule_at(Priority::NORMAL, place);
            queue.push_on_host(round, Some(support::PATIENCE)).expect("room");
            assert_eq!(ended(&handle), Ending::Finished);
        }
    };
    rounds(100);
    assert_allocates_nothing(|| rounds(1_000));
}

/// What allocates does so each time; the test harness, in a thread of its own, now and then.
fn assert_allocates_nothing(mut act: impl FnMut()) {
    let mut counts = Vec::new();
    for _ in 0..5 {
        let before = ALLOCATIONS.load(SeqCst);
        act();
        counts.push(ALLOCATIONS.load(SeqCst) - before);
        if counts.ends_with(&[0]) {
            return;
        }
    }
    panic!("allocations: {counts:?}");
}

/// Counts what all threads of this binary allocate.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[expect(unsafe_code, reason = "the only way to see allocations")]
// SAFETY: everything is left to the system's allocator, which keeps the contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, SeqCst);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}
