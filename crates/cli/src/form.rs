//! How a record that is no set of tests is printed: as text or as JSON.

use std::io::{self, Write};

use measurement::json;
use serde::Serialize;

use crate::flags::format::Form;
use crate::output::print_table;

/// Prints a record that is no set of tests in this form; `text` writes its text.
pub(crate) fn print_as(
    form: Form,
    record: &impl Serialize,
    text: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    print_table(|out| match form {
        Form::Text => text(out),
        Form::Json => json::write_indented(record, out),
        Form::Compact => json::write(record, out).and_then(|()| writeln!(out)),
    })
}
