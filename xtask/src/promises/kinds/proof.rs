//! `cargo xtask proof …`: a line for each case, or an end that says it all.

use crate::promises::task::{Course, Found, Task, Verdict};

pub(super) fn task(span: &str) -> Option<Task> {
    Task::of_xtask(span, "proof", cases)
}

/// The cases that went wrong, and the end.
fn cases(course: &Course) -> Vec<Found> {
    let wrong = course.lines.iter().filter_map(|line| {
        let text = line.strip_prefix("WRONG ")?.trim().to_owned();
        Some(Found { text, verdict: Verdict::Missed })
    });
    wrong.chain([course.end()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_that_went_wrong_is_named() {
        let lines = ["ok    a: 1", "WRONG b: 2", "error: proof ledger: 1 of 2 wrong: b"];
        let lines = lines.map(str::to_owned).to_vec();
        let found = cases(&Course { succeeded: false, lines, allowance: 1.0 });
        assert_eq!(found[0].text, "b: 2");
        assert!(found.len() == 2 && found.iter().all(|one| one.verdict == Verdict::Missed));
    }
}
