//! ThreadSanitizer sees what fibers do: else a clean run would say nothing.
#![cfg(tsan)]
#![expect(unsafe_code, reason = "a race is to be found")]

use std::cell::UnsafeCell;
use std::sync::{Arc, Barrier};
use std::thread;

use linerate_fiber::{Fiber, Frames, Stacks, Step, Yielder};

/// A number that is added to without any order.
struct Number(UnsafeCell<u64>);

// SAFETY: none; this is the race that is to be found.
unsafe impl Sync for Number {}

/// Fails under the sanitizer, as it should: `cargo xtask proof mars` asks for its finding.
#[test]
fn two_fibers_add_to_a_number() {
    let number = Arc::new(Number(UnsafeCell::new(0)));
    let start = Arc::new(Barrier::new(2));
    let add = |number: Arc<Number>, start: Arc<Barrier>| {
        let mut stacks = Stacks::new(16 << 10).expect("a page size");
        let function = move |mut yielder: Yielder<'_, (), ()>| {
            start.wait();
            for _ in 0..1_000 {
                // SAFETY: none; see above.
                unsafe { *number.0.get() += 1 };
                yielder.suspend(());
            }
        };
        let mut fiber = Fiber::new(stacks.take().expect("memory"), Frames::BOUND, function);
        while matches!(fiber.resume(&mut ()), Step::Suspended(())) {}
    };
    thread::scope(|scope| {
        for _ in 0..2 {
            let (number, start) = (Arc::clone(&number), Arc::clone(&start));
            scope.spawn(move || add(number, start));
        }
    });
}
