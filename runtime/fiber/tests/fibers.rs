//! Fibers as their users see them: order, values, ends, stacks and overflows.

#![expect(unsafe_code, reason = "an unbound fiber is a promise of its maker")]

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;

use linerate_fiber::{Fiber, Frames, Stacks, Step, Yielder};

type Counting<'a> = Yielder<'a, u32, u32>;

fn stacks() -> Stacks {
    Stacks::new(64 << 10).expect("memory for a signal stack")
}

/// Increments a counter when it is dropped.
struct Dropped(Arc<AtomicU32>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn values_go_both_ways_and_the_stack_is_used_again() {
    let mut stacks = stacks();
    for round in 0..1000 {
        let body = |mut yielder: Counting| {
            let mut sum = 0;
            for _ in 0..10 {
                sum += *yielder.context();
                yielder.suspend(sum);
            }
            u64::from(sum) << 32
        };
        let mut fiber = Fiber::new(stacks.take().expect("a stack"), Frames::BOUND, body);
        for turn in 1..=10 {
            let Step::Suspended(sum) = fiber.resume(&mut 3) else { panic!("round {round}") };
            assert_eq!(sum, 3 * turn);
        }
        let Step::Finished(sum, stack) = fiber.resume(&mut 0) else { panic!("round {round}") };
        assert_eq!(sum, 30 << 32);
        stacks.give(stack);
    }
    let used = stacks.high_water();
    assert!(used > 0 && used < 32 << 10, "{used}");
}

#[test]
fn a_panic_ends_the_fiber_alone() {
    let mut stacks = stacks();
    let body = |mut yielder: Counting| {
        yielder.suspend(1);
        std::panic::resume_unwind(Box::new("its own"));
    };
    let mut fiber: Fiber<u32, u32, ()> =
        Fiber::new(stacks.take().expect("a stack"), Frames::BOUND, body);
    assert!(matches!(fiber.resume(&mut 0), Step::Suspended(1)));
    let Step::Panicked(payload, stack) = fiber.resume(&mut 0) else { panic!("it panics") };
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"its own"));
    stacks.give(stack);
}

#[test]
fn a_cancelled_fiber_drops_its_values() {
    let (mut stacks, drops) = (stacks(), Arc::new(AtomicU32::new(0)));
    for begins in [false, true] {
        let captured = Dropped(Arc::clone(&drops));
        let body = move |mut yielder: Counting| {
            let _own = Dropped(Arc::clone(&captured.0));
            yielder.suspend(1);
            unreachable!("it was cancelled");
        };
        let mut fiber: Fiber<u32, u32, ()> =
            Fiber::new(stacks.take().expect("a stack"), Frames::BOUND, body);
        if begins {
            assert!(matches!(fiber.resume(&mut 0), Step::Suspended(1)));
        }
        stacks.give(fiber.cancel(&mut 0).expect("its stack"));
    }
    assert_eq!(drops.load(SeqCst), 3);
}

#[test]
fn an_unbound_fiber_goes_on_elsewhere_and_is_discarded() {
    let (mut stacks, drops) = (stacks(), Arc::new(AtomicU32::new(0)));
    let captured = Arc::clone(&drops);
    let function = move |mut yielder: Counting| {
        let _own = Dropped(captured);
        yielder.suspend(1);
        yielder.suspend(2);
    };
    // SAFETY: nothing refers to its frames.
    let frames = unsafe { Frames::unbound() };
    let mut fiber: Fiber<u32, u32, ()> =
        Fiber::new(stacks.take().expect("a stack"), frames, function);
    assert!(matches!(fiber.resume(&mut 0), Step::Suspended(1)));
    let elsewhere = std::thread::spawn(move || {
        assert!(matches!(fiber.resume(&mut 0), Step::Suspended(2)));
        fiber
    });
    let fiber = elsewhere.join().expect("no panic");
    stacks.give(fiber.cancel(&mut 0).expect("its stack"));
    assert_eq!(drops.load(SeqCst), 0);
}

#[test]
fn a_fiber_that_has_begun_does_not_go_on_elsewhere() {
    let mut stacks = stacks();
    let body = |mut yielder: Counting| yielder.suspend(1);
    let mut fiber: Fiber<u32, u32, ()> =
        Fiber::new(stacks.take().expect("a stack"), Frames::BOUND, body);
    assert!(matches!(fiber.resume(&mut 0), Step::Suspended(1)));
    let elsewhere = std::thread::spawn(move || _ = fiber.resume(&mut 0));
    assert!(elsewhere.join().is_err());
}

#[test]
fn a_hundred_thousand_guarded_stacks_are_alive_at_once_where_the_kernel_can() {
    let mut stacks = Stacks::new(8 << 10).expect("memory for a signal stack");
    let mut fibers = Vec::new();
    for _ in 0..100_000 {
        let Ok(stack) = stacks.take() else { break };
        let body = |mut yielder: Counting| {
            yielder.suspend(1);
            *yielder.context()
        };
        let mut fiber: Fiber<u32, u32, u32> = Fiber::new(stack, Frames::BOUND, body);
        assert!(matches!(fiber.resume(&mut 0), Step::Suspended(1)));
        fibers.push(fiber);
    }
    // Before Linux 6.13 each takes two of at least 65,530 mappings.
    assert!(fibers.len() > 30_000, "{}", fibers.len());
    for mut fiber in fibers {
        let Step::Finished(value, stack) = fiber.resume(&mut 9) else { panic!("it ends") };
        assert_eq!(value, 9);
        stacks.give(stack);
    }
}

/// Ends the process.
fn overflow() {
    let mut stacks = stacks();
    let body = |mut yielder: Counting| deepen(*yielder.context());
    let mut fiber = Fiber::new(stacks.take().expect("a stack"), Frames::BOUND, body);
    _ = fiber.resume(&mut 1);
}

#[expect(unconditional_recursion, reason = "it is what overflows")]
fn deepen(depth: u32) -> u32 {
    let block = std::hint::black_box([depth; 64]);
    deepen(depth + 1) + block[7]
}

#[test]
fn an_overflow_ends_with_a_sentence() {
    if std::env::var_os(OVERFLOWS).is_some() {
        return overflow();
    }
    let this = std::env::current_exe().expect("the path of this test");
    let mut again = Command::new(this);
    again.args(["--exact", "an_overflow_ends_with_a_sentence"]).env(OVERFLOWS, "1");
    let output = again.output();
    let output = output.expect("this test runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(error.contains("a task has overflowed its stack"), "{error}");
}

/// Set in the process that is to overflow a stack.
const OVERFLOWS: &str = "LINERATE_FIBER_OVERFLOWS";
