//! `interrupts.IRQ.CPU`: how often each interrupt came to each CPU, from `/proc/interrupts`
//! (proc(5)): those with numbers, those that an architecture names (`LOC`, `IPI0`), and
//! `interrupts.ERR.all` and `interrupts.MIS.all`, which are not of a CPU.
//!
//! The first line names the CPUs that are online. Behind its counts a row says what it is
//! in words that differ between architectures and are not read here.
//!
//! A large host has hundreds of thousands of counts of which hardly any changes: only those
//! that do become columns.

use measurement::Gap;
use measurement::host::{Family, counter};

use super::softirqs::{LONGEST, cpus};
use super::{Collector, ReadOutcome};
use crate::source::Source;
use crate::{Reading, Tree};

pub(super) struct Interrupts {
    source: Source,
    before: Before,
}

impl Default for Interrupts {
    fn default() -> Self {
        Self { source: Source::new("proc/interrupts"), before: Before::default() }
    }
}

impl Collector for Interrupts {
    fn family(&self) -> Family {
        Family::INTERRUPTS
    }

    fn read(&mut self, tree: &Tree, into: &mut Reading) -> Result<ReadOutcome, Gap> {
        let text = self.source.text_or_gap(tree, "interrupts", "there is no /proc")?;
        self.before.parse(&text, into);
        Ok(ReadOutcome::Complete)
    }
}

/// Parses `text`, and then again with some counts changed, as two consecutive reads. The
/// first read only sets the baseline.
pub(super) fn parse_twice(text: &str, into: &mut Reading) {
    let mut before = Before::default();
    before.parse(text, into);
    into.begin(1);
    before.parse(&text.replacen('1', "2", 8), into);
}

/// The counts of the first read.
#[derive(Debug, Default)]
struct Before {
    cpus: Vec<u32>,
    rows: Vec<InterruptRow>,
    /// Where the next row stands if the text is as it was.
    next: usize,
}

#[derive(Debug)]
struct InterruptRow {
    name: Box<str>,
    /// For each of the CPUs; none: it was not seen there yet.
    counts: Vec<Option<u64>>,
}

impl Before {
    fn parse(&mut self, text: &str, into: &mut Reading) {
        let mut lines = text.lines();
        self.realign(cpus(lines.next().unwrap_or_default()));
        self.next = 0;
        for line in lines {
            let Some((name, counts)) = line.split_once(':') else { continue };
            let name = name.trim();
            if !name.is_empty() && name.len() <= LONGEST {
                self.take(name, counts, into);
            }
        }
    }

    fn take(&mut self, name: &str, counts: &str, into: &mut Reading) {
        let place = self.place(name);
        self.next = place + 1;
        let row = &mut self.rows[place];
        let counts = counts.split_ascii_whitespace().map_while(|word| word.parse::<u64>().ok());
        if OF_NO_CPU.contains(&name) {
            for count in counts.take(1) {
                into.counter(counter::interrupts(name).on("all"), count);
            }
            return;
        }
        for (index, (cpu, count)) in self.cpus.iter().zip(counts).enumerate() {
            if index >= row.counts.len() {
                row.counts.resize(index + 1, None);
            }
            let before = *row.counts[index].get_or_insert(count);
            if before != count {
                into.counter_since(counter::interrupts(name).on(*cpu), before, count);
            }
        }
    }

    fn place(&mut self, name: &str) -> usize {
        if self.rows.get(self.next).is_some_and(|row| *row.name == *name) {
            return self.next;
        }
        // An interrupt came or went.
        self.rows.iter().position(|row| *row.name == *name).unwrap_or_else(|| {
            self.rows.push(InterruptRow { name: name.into(), counts: Vec::new() });
            self.rows.len() - 1
        })
    }

    /// A CPU came or went.
    fn realign(&mut self, cpus: Vec<u32>) {
        if cpus == self.cpus {
            return;
        }
        let places: Vec<Option<usize>> =
            cpus.iter().map(|cpu| self.cpus.iter().position(|old| old == cpu)).collect();
        for row in &mut self.rows {
            let count = |place: &Option<usize>| *row.counts.get((*place)?)?;
            row.counts = places.iter().map(count).collect();
        }
        self.cpus = cpus;
    }
}

/// Counted for the host as a whole (`arch_show_interrupts`); `Err` is that of Arm.
const OF_NO_CPU: [&str; 3] = ["ERR", "MIS", "Err"];

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::collectors::tests::counted;

    fn changed(looks: &[String]) -> BTreeMap<String, u64> {
        counted(|into| {
            let mut before = Before::default();
            for (row, text) in looks.iter().enumerate() {
                into.begin(row);
                before.parse(text, into);
            }
        })
    }

    #[test]
    fn only_what_changed_is_counted_on_a_virtual_machine() {
        let text = |network: u32, timer: u32| {
            format!(
                "           CPU0       CPU1       \n \
                 26:          0          8  IO-APIC   4-edge      ttyS0\n \
                 38:          0 {network:>10} PCI-MSIX-0000:00:03.0   1-edge      virtio2-input.0\n\
                 LOC: {timer:>10}  160733134   Local timer interrupts\n\
                 ERR:          0\n"
            )
        };
        let counted = changed(&[text(31_260, 5), text(31_999, 9)]);
        let expected =
            [("interrupts.38.1", 31_999), ("interrupts.ERR.all", 0), ("interrupts.LOC.0", 9)];
        assert_eq!(counted, expected.map(|(name, value)| (name.to_owned(), value)).into());
    }

    #[test]
    fn rows_of_an_arm_board_and_of_a_riscv_one_are_read() {
        let arm = |network: u32| {
            format!(
                "           CPU0       CPU1       CPU4       CPU5       \n \
                 44: {network:>10}          0          0          0     GICv3  44 Level     eth0\n\
                 IPI0:      1000       2000       3000 {network:>10}       Rescheduling interrupts\n\
                 Err:          0\n"
            )
        };
        let counted = changed(&[arm(7), arm(8)]);
        assert_eq!(counted["interrupts.44.0"], 8);
        assert_eq!(counted["interrupts.IPI0.5"], 8, "the fourth CPU is number 5");
        let riscv = |network: u32| {
            format!(
                "           CPU0       CPU1       \n \
                 10:          0          0  SiFive PLIC  40 Edge      keys\n \
                 11: {network:>10}          0  SiFive PLIC  53 Level     eth0\n"
            )
        };
        assert_eq!(changed(&[riscv(7), riscv(8)])["interrupts.11.0"], 8);
    }

    #[test]
    fn a_cpu_and_an_interrupt_that_come_later_keep_the_others_in_place() {
        let looks = [
            "CPU0 CPU1\n 1: 10 20 x\n 2: 5 5 y\n",
            "CPU0 CPU1\n 0: 1 1 w\n 1: 10 21 x\n 2: 5 5 y\n",
            "CPU1\n 0: 1 w\n 1: 22 x\n 2: 6 y\n",
            "CPU0 CPU1\n 0: 1 1 w\n 1: 10 23 x\n 2: 5 7 y\n",
        ];
        let counted = changed(&looks.map(str::to_owned));
        let expected = [("interrupts.1.1", 23), ("interrupts.2.1", 7)];
        assert_eq!(counted, expected.map(|(name, value)| (name.to_owned(), value)).into());
    }

    /// A host with 256 CPUs and 2,000 interrupts, of which one came `count` times.
    fn large(count: u32) -> String {
        let header = (0..256).map(|cpu| format!("CPU{cpu}")).collect::<Vec<_>>().join(" ");
        let zeroes = " 0".repeat(255);
        let row = |irq| {
            let count = if irq == 700 { count } else { 3 };
            format!("{irq}: {count}{zeroes} PCI-MSI 524288-edge eth0-{irq}")
        };
        format!("{header}\n{}", (0..2000).map(row).collect::<Vec<_>>().join("\n"))
    }

    #[test]
    fn a_large_host_has_columns_only_for_what_changed() {
        let counted = changed(&[large(3), large(4), large(5)]);
        assert_eq!(counted.into_iter().collect::<Vec<_>>(), [("interrupts.700.0".to_owned(), 5)]);
    }
}
