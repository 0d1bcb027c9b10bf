//! The screen of `linerate latency`: what load does to round trips, and how long they took.

use std::io::{self, Write};

use measurement::RecordSet;

use super::{Audience, Export};
use crate::histogram::Glyphs;
use crate::latency::{self, Remarks};
use crate::width::Width;

/// Output format `latency`: the delay that load adds, its grade, round trips per minute, and the
/// distribution of the round-trip times.
#[derive(Clone, Copy, Debug)]
pub struct Latency {
    /// Characters of the histogram.
    pub glyphs: Glyphs,
    /// What stands below the numbers.
    pub remarks: Remarks,
}

impl Latency {
    /// The format as its name on the command line gives it, the same for every terminal.
    pub const PLAIN: Self = Self { glyphs: Glyphs::Ascii, remarks: Remarks::Few };
}

impl Export for Latency {
    fn name(&self) -> &'static str {
        "latency"
    }

    fn summary(&self) -> &'static str {
        "what load does to round trips, and how long they took"
    }

    fn audience(&self) -> Audience {
        Audience::People
    }

    fn write(&self, records: &RecordSet, width: Width, out: &mut dyn Write) -> io::Result<()> {
        latency::write(records, (self.glyphs, self.remarks), width, out)
    }
}
