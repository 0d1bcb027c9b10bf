//! One task, which adds up its arguments.

use linerate_mars::{Args, Context, Priority, Program, TaskHandle};

use super::{Extent, Seen, verdict};

pub(crate) fn run(context: &Context, _extent: Extent) -> Seen {
    let program =
        Program::new(|task| i32::try_from(task.args().0.iter().sum::<u64>()).unwrap_or(-1));
    let task = TaskHandle::new(context, "hello", program);
    let right = (0..=1_000).filter(|round| {
        task.schedule(Args([*round, 40, 1, 1]), Priority::NORMAL)
            && u64::try_from(task.wait().code) == Ok(round + 42)
    });
    let right = right.count();
    verdict(right == 1_001, format!("{right} of 1001 exit codes are right"))
}
