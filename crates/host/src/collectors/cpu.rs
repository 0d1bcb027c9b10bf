//! `cpu.N.{user,nice,system,idle,iowait,irq,softirq,steal}_ns`: what each CPU did, from
//! `/proc/stat` (proc_stat(5)).
//!
//! The kernel counts in ticks of mostly 10 ms; here it is nanoseconds. The time of guests
//! is part of `user` and `nice`. `steal` is there since Linux 2.6.11. A CPU that is offline
//! has no line.

use measurement::Gap;
use measurement::host::Family;
use measurement::host::counter::CPU_STATES;

use super::{Collector, ReadOutcome};
use crate::source::Source;
use crate::{Reading, Tree};

pub(super) struct Cpus {
    source: Source,
    ticks_per_second: u64,
}

impl Default for Cpus {
    fn default() -> Self {
        let ticks_per_second = linux::host::ticks_per_second();
        Self { source: Source::new("proc/stat"), ticks_per_second }
    }
}

impl Collector for Cpus {
    fn family(&self) -> Family {
        Family::CPU
    }

    fn read(&mut self, tree: &Tree, into: &mut Reading) -> Result<ReadOutcome, Gap> {
        let ticks = self.ticks_per_second;
        let text = self.source.text_or_gap(tree, "time of the CPUs", "there is no /proc")?;
        parse(&text, ticks, into);
        Ok(ReadOutcome::Complete)
    }
}

pub(super) fn parse(text: &str, ticks_per_second: u64, into: &mut Reading) {
    // Lines of CPUs come first, and others are long.
    for line in text.lines().take_while(|line| line.starts_with("cpu")) {
        let mut words = line.split_ascii_whitespace();
        let number = words.next().and_then(|word| word.strip_prefix("cpu"));
        let Some(number) = number.and_then(|number| number.parse::<u32>().ok()) else { continue };
        for (state, ticks) in CPU_STATES.iter().zip(words.map_while(|word| word.parse().ok())) {
            let nanos = nanos(ticks, ticks_per_second);
            into.counter(state.on(number), nanos);
        }
    }
}

/// Ticks as nanoseconds.
pub(super) fn nanos(ticks: u64, ticks_per_second: u64) -> u64 {
    ticks.saturating_mul(1_000_000_000 / ticks_per_second.max(1))
}

#[cfg(test)]
mod tests {
    use super::super::tests::counted;
    use super::*;

    #[test]
    fn each_cpu_that_is_online_has_its_times() {
        let text = "cpu  30 0 0 0 0 0 0 0 0 0\n\
                    cpu0 10 1 2 300 4 5 6 7 8 9\n\
                    cpu3 20 0 0 0 0 0 0 0 0 0\n\
                    intr 114930548 113199788 3 0 5 263\n\
                    ctxt 1990473\n";
        let counted = counted(|into| parse(text, 100, into));
        assert_eq!(counted.len(), 16);
        assert_eq!(counted["cpu.0.user_ns"], 100_000_000);
        assert_eq!(counted["cpu.0.softirq_ns"], 60_000_000);
        assert_eq!(counted["cpu.0.steal_ns"], 70_000_000);
        assert_eq!(counted["cpu.3.user_ns"], 200_000_000);
    }

    #[test]
    fn a_line_of_a_very_old_kernel_has_what_it_has() {
        let counted = counted(|into| parse("cpu0 1 2 3 4\n", 1000, into));
        assert_eq!(counted.len(), 4);
        assert_eq!(counted["cpu.0.idle_ns"], 4_000_000);
    }
}
