//! One row a result, what limits, and what to try.

use std::io::{self, Write};

use measurement::RecordSet;

use super::{Audience, Export};
use crate::width::Width;
use crate::{screen, terminal};

/// Output format `table`: a row for each record and direction, then what limits and what to try.
#[derive(Clone, Copy, Debug)]
pub struct Table;

impl Export for Table {
    fn name(&self) -> &'static str {
        "table"
    }

    fn summary(&self) -> &'static str {
        "one row for each result, what limits, and what to try"
    }

    fn audience(&self) -> Audience {
        Audience::People
    }

    fn write(&self, records: &RecordSet, width: Width, out: &mut dyn Write) -> io::Result<()> {
        // Round trips have columns of their own.
        if records.records.iter().any(|record| record.plan.exchange.is_some()) {
            return terminal::write(records, width, out);
        }
        screen::write(records, width.of_screen(), out)
    }
}
