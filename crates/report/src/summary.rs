//! Results that are no set of tests, such as a ladder or a mesh: each is a record of its own, of which
//! every format shows the rows ([`Rows`]), the record itself, or its text ([`Summary`]).

use std::io::{self, Write};

use measurement::json;
use serde::Serialize;
use serde_json::{Map, Value as Json};

use crate::grid::{Grid, Value};

mod ab;
mod copies;
mod dut;
mod packets;
mod search;
mod tune;

/// A record with rows.
pub trait Rows: Serialize {
    /// Name of what the record is of: its key in the last of its JSON lines, and a part of the names of
    /// metrics.
    const NAME: &'static str;
    /// Whether its command prints lines of JSON of its own while it runs, instead of those of the rows.
    const HAS_LINES: bool = false;

    /// Its rows, the same in each format for programs.
    fn grid(&self) -> Grid;
}

/// The word that stands for a value of an enumeration in JSON.
fn word(value: impl Serialize) -> Value {
    match json::value(&value) {
        Json::String(word) => Value::Text(word),
        _ => Value::Missing,
    }
}

/// A record with rows, whichever it is.
trait Shown {
    fn name(&self) -> &'static str;

    fn has_lines(&self) -> bool;

    fn grid(&self) -> Grid;

    fn write_line(&self, out: &mut dyn Write) -> io::Result<()>;

    fn write_indented(&self, out: &mut dyn Write) -> io::Result<()>;
}

impl<R: Rows> Shown for R {
    fn name(&self) -> &'static str {
        R::NAME
    }

    fn has_lines(&self) -> bool {
        R::HAS_LINES
    }

    fn grid(&self) -> Grid {
        Rows::grid(self)
    }

    fn write_line(&self, out: &mut dyn Write) -> io::Result<()> {
        json::write(self, out)
    }

    fn write_indented(&self, out: &mut dyn Write) -> io::Result<()> {
        json::write_indented(self, out)
    }
}

/// A record with rows, and its text.
pub struct Summary<'a> {
    record: &'a dyn Shown,
    text: &'a dyn Fn(&mut dyn Write) -> io::Result<()>,
}

impl<'a> Summary<'a> {
    /// The summary of `record`, whose text for people `text` writes.
    pub fn new(record: &'a impl Rows, text: &'a dyn Fn(&mut dyn Write) -> io::Result<()>) -> Self {
        Self { record, text }
    }

    /// The rows of the record.
    pub fn grid(&self) -> Grid {
        self.record.grid()
    }

    /// Name of what the record is of, e.g. `ladder`.
    pub fn name(&self) -> &'static str {
        self.record.name()
    }

    /// Writes it for people.
    ///
    /// # Errors
    /// An error of writing to `out`.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        (self.text)(out)
    }

    /// Writes the record as JSON that is indented, with a newline at the end.
    ///
    /// # Errors
    /// An error of writing to `out`.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        self.record.write_indented(out)
    }

    /// Writes the record as JSON on one line.
    ///
    /// # Errors
    /// An error of writing to `out`.
    pub fn write_line(&self, out: &mut dyn Write) -> io::Result<()> {
        self.record.write_line(out)?;
        writeln!(out)
    }

    /// Writes a line of JSON for each row, unless the command printed lines of its own, then one with the
    /// record.
    ///
    /// # Errors
    /// An error of writing to `out`.
    pub fn write_lines(&self, out: &mut dyn Write) -> io::Result<()> {
        if let Json::Array(rows) = self.grid().to_json() {
            for row in rows.into_iter().filter(|_| !self.record.has_lines()) {
                let event = Map::from_iter([
                    ("event".to_owned(), Json::from("row")),
                    ("row".to_owned(), row),
                ]);
                writeln!(out, "{}", Json::Object(event))?;
            }
        }
        write!(out, "{{\"event\":\"end\",\"{}\":", self.name())?;
        self.record.write_line(out)?;
        writeln!(out, "}}")
    }
}
