//! The one place where tasks print.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

/// Prints a line on standard output.
pub(crate) fn say(line: impl Display) {
    // Whoever closed our output has seen enough.
    _ = writeln!(io::stdout().lock(), "{line}");
}

/// Prints a line on standard error.
pub(crate) fn complain(line: impl Display) {
    _ = writeln!(io::stderr().lock(), "error: {line}");
}

/// Passes on a line that another program wrote on standard error.
pub(crate) fn pass_on(line: impl Display) {
    _ = writeln!(io::stderr().lock(), "{line}");
}

/// Shows a line on a terminal until the next one takes its place; nothing takes it away.
pub(crate) fn transient(line: impl Display) {
    let mut terminal = io::stderr().lock();
    if terminal.is_terminal() {
        let line: String = line.to_string().chars().take(COLUMNS).collect();
        // To the start of the line, and clear it (ECMA-48, EL).
        _ = write!(terminal, "\r\x1b[K{line}");
        _ = terminal.flush();
    }
}

/// A longer line would wrap, and its first half stay.
const COLUMNS: usize = 79;
