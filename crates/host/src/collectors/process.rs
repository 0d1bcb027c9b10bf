//! `process.self.{user,system}_ns`: CPU time of all threads of this process, from
//! `/proc/self/stat` (proc_pid_stat(5), fields 14 and 15), in ticks of mostly 10 ms there.

use measurement::Gap;
use measurement::host::{Family, counter};

use super::cpu::nanos;
use super::{Collector, ReadOutcome};
use crate::source::Source;
use crate::{Reading, Tree};

pub(super) struct Process {
    source: Source,
    ticks_per_second: u64,
}

impl Default for Process {
    fn default() -> Self {
        let ticks_per_second = linux::host::ticks_per_second();
        Self { source: Source::new("proc/self/stat"), ticks_per_second }
    }
}

impl Collector for Process {
    fn family(&self) -> Family {
        Family::PROCESS
    }

    fn read(&mut self, tree: &Tree, into: &mut Reading) -> Result<ReadOutcome, Gap> {
        let ticks = self.ticks_per_second;
        let text =
            self.source.text_or_gap(tree, "CPU time of this process", "there is no /proc")?;
        parse(&text, ticks, into);
        Ok(ReadOutcome::Complete)
    }
}

pub(super) fn parse(text: &str, ticks_per_second: u64, into: &mut Reading) {
    // The second field is a name in parentheses that may hold any of both and spaces.
    let Some((_, fields)) = text.rsplit_once(')') else { return };
    let mut ticks = fields.split_ascii_whitespace().skip(USER - 3).map(str::parse);
    for name in [counter::PROCESS_USER, counter::PROCESS_SYSTEM] {
        if let Some(Ok(ticks)) = ticks.next() {
            into.counter(name, nanos(ticks, ticks_per_second));
        }
    }
}

/// The field with the time in user space, counted from 1; the third is the first behind the
/// name.
const USER: usize = 14;

#[cfg(test)]
mod tests {
    use super::super::tests::counted;
    use super::*;

    #[test]
    fn the_name_of_a_program_may_hold_anything() {
        let text = "31 (a) b (c) R 1 31 31 0 -1 4194304 99 0 0 0 25 7 0 0 20 0 1 0 5 6 7\n";
        let counted = counted(|into| parse(text, 100, into));
        assert_eq!(counted["process.self.user_ns"], 250_000_000);
        assert_eq!(counted["process.self.system_ns"], 70_000_000);
    }

    #[test]
    fn a_text_without_a_name_has_no_counters() {
        assert!(counted(|into| parse("31 R 1 2 3", 100, into)).is_empty());
    }
}
