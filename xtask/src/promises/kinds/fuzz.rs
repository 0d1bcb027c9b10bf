//! `cargo xtask fuzz …`: its end is the result.

use crate::promises::task::{Course, Task};

pub(super) fn task(span: &str) -> Option<Task> {
    let task = Task::of_xtask(span, "fuzz", |course: &Course| vec![course.end()])?;
    let targets = task.words.windows(2).filter(|pair| pair[0] == "--target");
    let files = targets.map(|pair| format!("fuzz/src/targets/{}.rs", pair[1])).collect();
    Some(Task { files, ..task })
}
