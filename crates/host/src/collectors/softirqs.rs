//! `softirqs.KIND.CPU`: how often each kind of softirq ran on each CPU, e.g.
//! `softirqs.NET_RX.0`, from `/proc/softirqs` (proc(5), since Linux 2.6.31).
//!
//! The first line names the CPUs: all that there may be, also those that are offline.

use measurement::Gap;
use measurement::host::{Family, counter};

use super::{Collector, ReadOutcome};
use crate::source::Source;
use crate::{Reading, Tree};

pub(super) struct Softirqs {
    source: Source,
}

impl Default for Softirqs {
    fn default() -> Self {
        Self { source: Source::new("proc/softirqs") }
    }
}

impl Collector for Softirqs {
    fn family(&self) -> Family {
        Family::SOFTIRQS
    }

    fn read(&mut self, tree: &Tree, into: &mut Reading) -> Result<ReadOutcome, Gap> {
        let text = self.source.text_or_gap(tree, "softirqs", "there is no /proc")?;
        parse(&text, into);
        Ok(ReadOutcome::Complete)
    }
}

pub(super) fn parse(text: &str, into: &mut Reading) {
    let mut lines = text.lines();
    let cpus = cpus(lines.next().unwrap_or_default());
    for line in lines {
        let Some((kind, counts)) = line.split_once(':') else { continue };
        let kind = kind.trim();
        if kind.is_empty() || kind.len() > LONGEST {
            continue;
        }
        let counts = counts.split_ascii_whitespace().map_while(|word| word.parse().ok());
        for (cpu, count) in cpus.iter().zip(counts) {
            into.counter(counter::softirqs(kind).on(*cpu), count);
        }
    }
}

/// The CPUs that a first line names: `CPU0       CPU1`.
pub(super) fn cpus(line: &str) -> Vec<u32> {
    line.split_ascii_whitespace().map_while(|word| word.strip_prefix("CPU")?.parse().ok()).collect()
}

/// No name of a row is longer.
pub(super) const LONGEST: usize = 32;

#[cfg(test)]
mod tests {
    use super::super::tests::counted;
    use super::*;

    #[test]
    fn each_kind_is_counted_for_each_cpu() {
        let text = "                    CPU0       CPU1       CPU4       \n\
                    HI:          0          1          2\n\
                    NET_RX:     158050        160         12\n";
        let counted = counted(|into| parse(text, into));
        assert_eq!(counted.len(), 6);
        assert_eq!(counted["softirqs.NET_RX.0"], 158_050);
        assert_eq!(counted["softirqs.NET_RX.4"], 12);
    }

    #[test]
    fn more_counts_than_cpus_are_not_counted() {
        let counted = counted(|into| parse("CPU0\nHI: 1 2 3\n: 5\n", into));
        assert_eq!(counted.len(), 1);
    }
}
