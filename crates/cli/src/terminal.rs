//! What the terminal can show.

use std::io::IsTerminal;

use console::Term;
use report::Width;

/// Columns of standard output; 80 where they are not known.
pub(crate) fn width() -> usize {
    room().of_screen()
}

/// Columns of standard output, if they are known.
pub(crate) fn room() -> Width {
    columns(&Term::stdout())
}

/// Columns of standard error; 80 where they are not known.
pub(crate) fn width_of_errors() -> usize {
    columns(&Term::stderr()).of_screen()
}

/// Where it is no terminal, `COLUMNS` may say it (environ(7)).
fn columns(term: &Term) -> Width {
    let told = term.size_checked().map(|(_, columns)| usize::from(columns));
    let named = || std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    told.or_else(named).map_or(Width::UNKNOWN, Width::of)
}

/// Whether a line can be drawn over itself on standard error.
pub(crate) fn can_move() -> bool {
    std::io::stderr().is_terminal() && std::env::var("TERM").is_ok_and(|name| name != "dumb")
}
