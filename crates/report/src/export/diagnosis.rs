//! The table, and what limited each row with all of the evidence.

use std::io::{self, Write};

use measurement::RecordSet;

use super::{Audience, Export};
use crate::diagnosis;
use crate::width::Width;

/// Output format `diagnosis`: the table of results, and the verdict on each row with all of its
/// evidence.
#[derive(Clone, Copy, Debug)]
pub struct Diagnosis;

impl Export for Diagnosis {
    fn name(&self) -> &'static str {
        "diagnosis"
    }

    fn summary(&self) -> &'static str {
        "the table, and what limited each row with all of the evidence"
    }

    fn audience(&self) -> Audience {
        Audience::People
    }

    fn write(&self, records: &RecordSet, width: Width, out: &mut dyn Write) -> io::Result<()> {
        diagnosis::write_records(records, width, out)
    }
}
