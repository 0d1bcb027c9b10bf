//! `cargo xtask static`, `cargo xtask dist …`: the size of each file is a line that they print.

use crate::promises::task::{Course, Quick, Task};

pub(super) fn task(span: &str) -> Option<Task> {
    if let Some(task) = Task::of_xtask(span, "dist", Course::outcomes) {
        return Some(task);
    }
    let task = Task::of_xtask(span, "static", Course::outcomes)?;
    // A size is the same wherever it is built.
    let quick = Quick { words: &[], takes_static: false, allowance: 1.0 };
    Some(Task { quick: Some(quick), ..task })
}
