//! The table that people read.

use std::io::{self, Write};

use measurement::RecordSet;

use super::{Audience, Export};
use crate::terminal;

/// Output format `table`: a row for each record and direction, then verdicts and notes.
#[derive(Clone, Copy, Debug)]
pub struct Table;

impl Export for Table {
    fn name(&self) -> &'static str {
        "table"
    }

    fn summary(&self) -> &'static str {
        "one row for each result, the verdict, and notes"
    }

    fn audience(&self) -> Audience {
        Audience::People
    }

    fn write(&self, records: &RecordSet, out: &mut dyn Write) -> io::Result<()> {
        terminal::write(records, out)
    }
}
