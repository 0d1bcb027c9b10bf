//! What the terminal can show.

use std::io::IsTerminal;

use console::Term;
use report::screen::USUAL_WIDTH;

/// Columns of standard output.
pub(crate) fn width() -> usize {
    columns(&Term::stdout())
}

/// Columns of standard error.
pub(crate) fn width_of_errors() -> usize {
    columns(&Term::stderr())
}

/// Where it is no terminal, `COLUMNS` may say it (environ(7)).
fn columns(term: &Term) -> usize {
    let told = term.size_checked().map(|(_, columns)| usize::from(columns));
    let named = || std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    told.or_else(named).filter(|columns| *columns > 0).unwrap_or(USUAL_WIDTH)
}

/// Whether a line can be drawn over itself on standard error.
pub(crate) fn can_move() -> bool {
    std::io::stderr().is_terminal() && std::env::var("TERM").is_ok_and(|name| name != "dumb")
}
