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

/// Whether characters beyond ASCII are shown (locale(7)).
pub(crate) fn has_unicode() -> bool {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"];
    let locale =
        names.iter().filter_map(|name| std::env::var(name).ok()).find(|one| !one.is_empty());
    let locale = locale.unwrap_or_default().to_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}
