//! `cargo xtask bench …`: each promise of a bench is a line that it prints.

use crate::promises::task::{Course, Found, Quick, Task, Verdict};

pub(super) fn task(span: &str) -> Option<Task> {
    let read = if span.ends_with(" mars") { rows } else { Course::outcomes };
    let task = Task::of_xtask(span, "bench", read)?;
    let quick = QUICK.iter().find(|(known, _)| *known == span).map(|(_, quick)| *quick);
    Some(Task { quick, ..task })
}

/// The rows of `bench mars` that end with what came of them.
fn rows(course: &Course) -> Vec<Found> {
    let found = course.lines.iter().filter_map(|line| {
        let words = |rest: &str| rest.split_whitespace().collect::<Vec<_>>().join(" ");
        let of = |end: &str, verdict| Some(Found { text: words(line.strip_suffix(end)?), verdict });
        of(" kept", Verdict::Kept).or_else(|| of(" MISSED", Verdict::Missed))
    });
    course.or_by_its_end(found.collect())
}

/// Those that take less than half a minute. Memory does not depend on what else the machine does;
/// times do, by far.
const QUICK: [(&str, Quick); 2] = [
    ("cargo xtask bench", Quick { words: &["--quick"], takes_static: true, allowance: 4.0 }),
    (
        "cargo xtask bench memory",
        Quick { words: &["--time", "1"], takes_static: true, allowance: 1.0 },
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_with_a_verdict_are_results() {
        let lines = ["row measured", "switch   50 ns  <= 60 ns kept", "x 3 ns", "y 9 ns MISSED"];
        let lines = lines.map(str::to_owned).to_vec();
        let found = rows(&Course { succeeded: true, lines, allowance: 1.0 });
        assert_eq!(found[0].text, "switch 50 ns <= 60 ns");
        assert_eq!(found.iter().map(|one| one.verdict).max(), Some(Verdict::Missed));
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn some_are_quick() {
        let is_quick = |span| task(span).expect("a bench").quick.is_some();
        assert!(is_quick("cargo xtask bench") && !is_quick("cargo xtask bench streams"));
        assert!(task("cargo xtask proof ledger").is_none());
    }
}
