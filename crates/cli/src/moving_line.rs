//! A line on standard error that is drawn over itself. Not what it says: `progress` and
//! `commands::search` know that.

use std::cell::RefCell;
use std::io::{self, Write};
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
    /// When it was drawn last, by `CLOCK_MONOTONIC`; none: it is not on the terminal.
    drawn: Option<Duration>,
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

    /// Shows `text`, which has no newline, as far as there is room for it; at most 20 times a
    /// second, so that a text that is soon replaced may not be seen.
    pub(crate) fn show(&self, text: String) {
        if self.is_hidden {
            return;
        }
        let mut state = self.state.borrow_mut();
        state.text = text;
        let now = clock::monotonic();
        if state.drawn.is_none_or(|before| now.saturating_sub(before) >= PAUSE) {
            draw(&state.text);
            state.drawn = Some(now);
        }
    }

    /// Takes the line away while `print` prints others.
    pub(crate) fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        let is_drawn = self.take_away();
        let printed = print();
        if is_drawn {
            let mut state = self.state.borrow_mut();
            draw(&state.text);
            state.drawn = Some(clock::monotonic());
        }
        printed
    }

    /// Takes it away.
    pub(crate) fn clear(&self) {
        self.take_away();
    }

    /// Whether it was there.
    fn take_away(&self) -> bool {
        let is_drawn = self.state.borrow_mut().drawn.take().is_some();
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

fn draw(text: &str) {
    let end = text.char_indices().nth(terminal::width_of_errors()).map_or(text.len(), |(at, _)| at);
    write(&format!("{CLEAR}{}", &text[..end]));
}

fn write(text: &str) {
    // Progress that cannot be shown is no reason to stop measuring.
    _ = io::stderr().write_all(text.as_bytes());
}

/// To the begin of the line, which is then erased (console_codes(4), CR and EL).
const CLEAR: &str = "\r\x1b[2K";
/// From one drawing to the next.
const PAUSE: Duration = Duration::from_millis(50);
