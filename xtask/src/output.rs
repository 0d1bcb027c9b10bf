//! The one place where tasks print.

use std::fmt::Display;
use std::io::{self, Write};

/// Prints a line on standard output.
pub(crate) fn say(line: impl Display) {
    // Whoever closed our output has seen enough.
    _ = writeln!(io::stdout().lock(), "{line}");
}

/// Prints a line on standard error.
pub(crate) fn complain(line: impl Display) {
    _ = writeln!(io::stderr().lock(), "error: {line}");
}
