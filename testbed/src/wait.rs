//! Waiting for an event that only polling shows: a file, a counter, a state in `/proc`.

use std::thread;
use std::time::{Duration, Instant};

/// Asks until there is an answer, for at most `limit`. None if no answer came in time.
pub fn within<T>(limit: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + limit;
    let mut pause = SHORTEST_PAUSE;
    loop {
        // Looked at before the question, so that the last question comes after the limit.
        let is_late = Instant::now() >= deadline;
        let answer = ask();
        if is_late || answer.is_some() {
            return answer;
        }
        thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Asks until there is an answer, in a test.
///
/// # Panics
/// No answer came within [`PATIENCE`].
#[track_caller]
pub fn until<T>(what: &str, ask: impl FnMut() -> Option<T>) -> T {
    within(PATIENCE, ask).unwrap_or_else(|| panic!("waited {PATIENCE:?} in vain: {what}"))
}

/// Waits until something is so, in a test.
///
/// # Panics
/// It is not so within [`PATIENCE`].
#[track_caller]
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    until(what, || is_so().then_some(()));
}

/// Longer than anything takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(30);
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
/// Some questions start a program: they are not to take the CPU of what they wait for.
const LONGEST_PAUSE: Duration = Duration::from_millis(16);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_question_is_repeated_until_there_is_an_answer() {
        let mut asked = 0;
        eventually("third question", || {
            asked += 1;
            asked == 3
        });
        assert_eq!(asked, 3);
    }

    #[test]
    fn a_question_without_an_answer_ends_at_its_limit() {
        let mut asked = 0;
        let answer: Option<()> = within(Duration::ZERO, || {
            asked += 1;
            None
        });
        assert_eq!((answer, asked), (None, 1));
    }
}
