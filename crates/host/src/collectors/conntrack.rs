//! `conntrack.CPU.NAME`: what the tracking of connections did on each CPU, e.g.
//! `conntrack.0.insert_failed`, and the gauge `conntrack.all.count` of connections that it
//! knows, from `/proc/net/stat/nf_conntrack` (`ct_cpu_seq_show` in
//! net/netfilter/nf_conntrack_standalone.c).
//!
//! The first line has the names, then there is a row for each CPU that there may be, in
//! order; numbers are hexadecimal, of 32 bits.

use measurement::Gap;
use measurement::host::{Counter, Family, counter};

use super::softirqs::LONGEST;
use super::{Collector, ReadOutcome};
use crate::source::Source;
use crate::{Reading, Tree};

pub(super) struct Conntrack {
    source: Source,
}

impl Default for Conntrack {
    fn default() -> Self {
        Self { source: Source::new("proc/net/stat/nf_conntrack") }
    }
}

impl Collector for Conntrack {
    fn family(&self) -> Family {
        Family::CONNTRACK
    }

    fn read(&mut self, tree: &Tree, into: &mut Reading) -> Result<ReadOutcome, Gap> {
        let absent = "no connections are tracked (nf_conntrack is not loaded), or the kernel \
                      does not report them (CONFIG_NF_CONNTRACK_PROCFS)";
        let text = self.source.text_or_gap(tree, "tracking of connections", absent)?;
        parse(&text, into);
        Ok(ReadOutcome::Complete)
    }
}

pub(super) fn parse(text: &str, into: &mut Reading) {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split_ascii_whitespace().collect();
    for (cpu, line) in lines.enumerate() {
        let numbers = line.split_ascii_whitespace();
        let numbers = numbers.map_while(|word| u32::from_str_radix(word, 16).ok());
        for (name, number) in names.iter().zip(numbers) {
            match *name {
                // Each row has the sum of all CPUs.
                "entries" => into.gauge(counter::CONNTRACK_COUNT, number.into()),
                name if name.len() <= LONGEST => {
                    let name = format_args!("conntrack.{cpu}.{name}");
                    into.counter(Counter::from_text(name), number.into());
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{counted, reading};
    use super::*;

    #[test]
    fn each_row_is_a_cpu_and_entries_are_of_all() {
        let text = "entries  clashres found new invalid insert_failed drop\n\
                    0000001a 00000000 00000001 00000000 00000003 00000005 0000000b\n\
                    0000001a 00000000 00000000 00000000 00000000 00000000 00000001\n";
        let counted = counted(|into| parse(text, into));
        assert_eq!(counted.len(), 12);
        assert_eq!((counted["conntrack.0.drop"], counted["conntrack.1.drop"]), (11, 1));
        let reading = reading(|into| parse(text, into));
        assert_eq!(reading.gauges().collect::<Vec<_>>(), [("conntrack.all.count", 26)]);
    }
}
