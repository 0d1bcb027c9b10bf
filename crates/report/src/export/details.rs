//! The table with all columns, every account, verdict and note.

use std::io::{self, Write};

use measurement::RecordSet;

use super::{Audience, Export};
use crate::terminal;
use crate::width::Width;

/// Output format `details`: all columns, then where datagrams went and what TCP waited for, verdicts
/// and notes.
#[derive(Clone, Copy, Debug)]
pub struct Details;

impl Export for Details {
    fn name(&self) -> &'static str {
        "details"
    }

    fn summary(&self) -> &'static str {
        "all columns, ledgers, verdicts and notes"
    }

    fn audience(&self) -> Audience {
        Audience::People
    }

    fn write(&self, records: &RecordSet, width: Width, out: &mut dyn Write) -> io::Result<()> {
        terminal::write(records, width, out)
    }
}
