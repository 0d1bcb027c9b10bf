//! A line on standard error that is drawn over itself. Not what it says: `progress` and
//! `commands::search` know that.

use std::cell::RefCell;
use std::io::{self, Write};
use std::mem;
use std::time::Duration;

use linux::clock;

use crate::terminal;

/// The line; what is drawn is taken away when it is dropped.
pub(crate) struct MovingLine {
    is_hidden: bool,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    text: String,
    /// Whether it is on the terminal.
    is_drawn: bool,
    /// When a second began, by `CLOCK_MONOTONIC`, and how often it was drawn since.
    second: (Duration, u32),
}

impl MovingLine {
    /// Draws nothing if `is_hidden`, or if standard error is no terminal that can.
    pub(crate) fn new(is_hidden: bool) -> Self {
        Self {
            is_hidden: is_hidden || !terminal::can_move(),
            state: RefCell::new(State::default()),
        }
    }

    /// Whether it draws nothing.
    pub(crate) const fn is_hidden(&self) -> bool {
        self.is_hidden
    }

    /// Shows `text`, which has no newline, as far as there is room for it; from the 21st text of a
    /// second on it is not drawn before the next.
    pub(crate) fn show(&self, text: String) {
        if self.is_hidden {
            return;
        }
        let mut state = self.state.borrow_mut();
        state.text = text;
        if state.may_draw(clock::monotonic()) {
            state.draw();
        }
    }

    /// Takes the line away while `print` prints others.
    pub(crate) fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        let is_drawn = self.take_away();
        let printed = print();
        if is_drawn {
            self.state.borrow_mut().draw();
        }
        printed
    }

    /// Takes it away.
    pub(crate) fn clear(&self) {
        self.take_away();
    }

    /// Whether it was there.
    fn take_away(&self) -> bool {
        let is_drawn = mem::take(&mut self.state.borrow_mut().is_drawn);
        if is_drawn {
            write(CLEAR);
        }
        is_drawn
    }
}

impl Drop for MovingLine {
    fn drop(&mut self) {
        self.clear();
    }
}

impl State {
    /// Whether it was not drawn too often within this second.
    fn may_draw(&mut self, now: Duration) -> bool {
        let (begin, count) = self.second;
        self.second =
            if now.saturating_sub(begin) >= SECOND { (now, 1) } else { (begin, count + 1) };
        self.second.1 <= MOST_A_SECOND
    }

    fn draw(&mut self) {
        let mut starts = self.text.char_indices().map(|(start, _)| start);
        let end = starts.nth(terminal::width_of_errors()).unwrap_or(self.text.len());
        write(&format!("{CLEAR}{}", &self.text[..end]));
        self.is_drawn = true;
    }
}

fn write(text: &str) {
    // Progress that cannot be shown is no reason to stop measuring.
    _ = io::stderr().write_all(text.as_bytes());
}

/// To the begin of the line, which is then erased (console_codes(4), CR and EL).
const CLEAR: &str = "\r\x1b[2K";
const SECOND: Duration = Duration::from_secs(1);
/// Terminals at the end of a slow line do not draw more often.
const MOST_A_SECOND: u32 = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_beyond_those_of_a_second_wait_for_the_next() {
        let mut state = State::default();
        let mut drawn = |millis: u64| state.may_draw(Duration::from_millis(millis));
        assert_eq!((5_000..5_100).filter(|millis| drawn(*millis)).count(), 20);
        assert!(!drawn(5_999));
        assert!(drawn(6_000));
    }
}
