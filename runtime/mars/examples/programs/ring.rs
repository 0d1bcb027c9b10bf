//! Each task waits for its bit of an event flag, which is cleared then, and sets that of the next.

use std::sync::Arc;

use linerate_mars::{Clearing, Context, EventFlag, Masking, Time};

use super::{Extent, Seen, several, verdict};

pub(crate) fn run(context: &Context, extent: Extent) -> Seen {
    let hops = extent.of(8_000, 100_000);
    let flag = Arc::new(EventFlag::new(context, Clearing::Automatic));
    let passed = Arc::clone(&flag);
    let programs = several(TASKS, move |task, own| {
        for _ in 0..hops / TASKS {
            if task.block(|mpu| flag.wait(mpu, 1 << own, Masking::All)) != Ok(1 << own) {
                return 1;
            }
            flag.set(1 << ((own + 1) % TASKS));
        }
        0
    });
    let begin = Time::now();
    passed.set(1);
    super::run(context, programs)?;
    let nanos = Time::now().since(begin).as_nanos() / hops as u128;
    verdict(passed.bits() == 1, format!("{hops} hops, {nanos} ns each"))
}

const TASKS: usize = 8;
