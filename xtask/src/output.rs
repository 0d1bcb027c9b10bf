//! The one place where tasks print.

use std::fmt::Display;
use std::io::{self, Write};

pub(crate) use testbed::output::{say, transient};

/// Prints a line on standard error.
pub(crate) fn complain(line: impl Display) {
    _ = writeln!(io::stderr().lock(), "error: {line}");
}

/// Passes on a line that another program wrote on standard error.
pub(crate) fn pass_on(line: impl Display) {
    _ = writeln!(io::stderr().lock(), "{line}");
}
