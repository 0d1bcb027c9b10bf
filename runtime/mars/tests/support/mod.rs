//! What the tests share: workloads that are closures, and patience.

#![expect(clippy::disallowed_methods, reason = "a test waits by the clock")]

use std::time::{Duration, Instant};

use linerate_mars::{Builder, Context, Ending, Handle, Mpu, Next, Workload};

/// A workload that calls a closure.
pub(crate) struct Calls<F>(F);

impl<F> Workload for Calls<F>
where
    F: FnMut(&mut Mpu<'_, ()>) -> Next + Send + 'static,
{
    type Module = ();

    fn run(&mut self, mpu: &mut Mpu<'_, ()>) -> Next {
        (self.0)(mpu)
    }
}

/// Lets the compiler find the closure's type.
pub(crate) fn calls<F: FnMut(&mut Mpu<'_, ()>) -> Next + Send + 'static>(call: F) -> Calls<F> {
    Calls(call)
}

pub(crate) fn context(mpus: usize) -> Context {
    Builder::new(mpus).start().expect("starts")
}

/// How it ended, which must not take for ever.
pub(crate) fn ended<W: Workload>(handle: &Handle<W>) -> Ending {
    handle.wait_for(PATIENCE).expect("it ends")
}

/// Waits for what has to come about.
pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "never: {what}");
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Longer than any machine needs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(40);
