//! What a task prints, line by line.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

/// Prints a line on standard output. Errors, such as a closed pipe, are ignored.
pub fn say(line: impl Display) {
    // Whoever closed our output has seen enough.
    _ = writeln!(io::stdout().lock(), "{line}");
}

/// Shows a line on standard error until the next one overwrites it, if that is a terminal.
pub fn transient(line: impl Display) {
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
