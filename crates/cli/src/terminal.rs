//! What the terminal can show.

use std::io::{self, IsTerminal};
use std::os::fd::AsFd;

use report::Width;
use terminal_size::terminal_size_of;

/// Columns of standard output; 80 where they are not known.
pub(crate) fn width() -> usize {
    room().of_screen()
}

/// Columns of standard output, if they are known.
pub(crate) fn room() -> Width {
    columns(io::stdout())
}

/// Columns of standard error; 80 where they are not known.
pub(crate) fn width_of_errors() -> usize {
    columns(io::stderr()).of_screen()
}

/// Where it is no terminal, `COLUMNS` may say it (environ(7)).
fn columns(output: impl AsFd) -> Width {
    let told = terminal_size_of(output).map(|(columns, _)| usize::from(columns.0));
    let named = || std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    told.or_else(named).map_or(Width::UNKNOWN, Width::of)
}

/// Whether a line can be drawn over itself on standard error.
pub(crate) fn can_move() -> bool {
    io::stderr().is_terminal() && std::env::var("TERM").is_ok_and(|name| name != "dumb")
}
