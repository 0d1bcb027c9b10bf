//! `pressure.{cpu,memory,io}.{some,full}_us`: for how long some, or all, tasks could not go
//! on for want of something, in microseconds, from `/proc/pressure/*`
//! (Documentation/accounting/psi.rst, since Linux 4.20).

use measurement::Gap;
use measurement::host::Family;
use measurement::host::counter::{self, Stalls};

use super::{Collector, ReadOutcome};
use crate::source::Source;
use crate::{Reading, Tree};

pub(super) struct Pressure {
    sources: [Source; 3],
}

impl Default for Pressure {
    fn default() -> Self {
        Self {
            sources: [
                Source::new("proc/pressure/cpu"),
                Source::new("proc/pressure/memory"),
                Source::new("proc/pressure/io"),
            ],
        }
    }
}

impl Collector for Pressure {
    fn family(&self) -> Family {
        Family::PRESSURE
    }

    fn read(&mut self, tree: &Tree, into: &mut Reading) -> Result<ReadOutcome, Gap> {
        for (stalls, source) in STALLS.into_iter().zip(&mut self.sources) {
            let text = source.text_or_gap(tree, "pressure", ABSENT)?;
            parse(&text, stalls, into);
        }
        Ok(ReadOutcome::Complete)
    }
}

pub(super) fn parse(text: &str, stalls: Stalls, into: &mut Reading) {
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let counter = match words.next() {
            Some("some") => stalls.some,
            Some("full") => stalls.full,
            _ => continue,
        };
        let total = words.find_map(|word| word.strip_prefix("total=")?.parse().ok());
        if let Some(total) = total {
            into.counter(counter, total);
        }
    }
}

/// In the order of the sources.
const STALLS: [Stalls; 3] = [counter::PRESSURE_CPU, counter::PRESSURE_MEMORY, counter::PRESSURE_IO];
const ABSENT: &str =
    "this kernel does not report it (CONFIG_PSI), or it is off (psi=1 turns it on)";

#[cfg(test)]
mod tests {
    use super::super::tests::counted;
    use super::*;

    #[test]
    fn the_totals_are_counted() {
        let text = "some avg10=3.52 avg60=3.74 avg300=2.05 total=19082508875\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        let counted = counted(|into| parse(text, counter::PRESSURE_CPU, into));
        assert_eq!(counted["pressure.cpu.some_us"], 19_082_508_875);
        assert_eq!(counted["pressure.cpu.full_us"], 7);
    }
}
