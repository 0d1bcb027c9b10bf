//! Workloads that are closures.

use mars::{Mpu, Next, Workload};

pub(crate) struct Calls<F>(F);

/// Lets the compiler find the closure's type.
pub(crate) fn calls<F: FnMut(&mut Mpu<'_, ()>) -> Next + Send + 'static>(call: F) -> Calls<F> {
    Calls(call)
}

impl<F: FnMut(&mut Mpu<'_, ()>) -> Next + Send + 'static> Workload for Calls<F> {
    type Module = ();

    fn run(&mut self, mpu: &mut Mpu<'_, ()>) -> Next {
        (self.0)(mpu)
    }
}
