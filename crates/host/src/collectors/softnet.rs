//! `softnet.CPU.{processed,dropped,time_squeeze,received_rps,flow_limit_count}`: what each
//! CPU took from the network, from `/proc/net/softnet_stat` (`softnet_seq_show` in
//! net/core/net-procfs.c).
//!
//! Numbers are hexadecimal, of 32 bits. Columns came with time: `received_rps` with Linux
//! 2.6.35, `flow_limit_count` with 3.11, and the number of the CPU, the 13th, with 5.10.
//! Before that a row is one of the CPUs that are online, in order.

use measurement::Gap;
use measurement::host::{EachCounter, Family, counter};

use super::{Collector, ReadOutcome};
use crate::source::Source;
use crate::{Reading, Tree};

pub(super) struct Softnet {
    source: Source,
    online: Source,
}

impl Default for Softnet {
    fn default() -> Self {
        Self {
            source: Source::new("proc/net/softnet_stat"),
            online: Source::new("sys/devices/system/cpu/online"),
        }
    }
}

impl Collector for Softnet {
    fn family(&self) -> Family {
        Family::SOFTNET
    }

    fn read(&mut self, tree: &Tree, into: &mut Reading) -> Result<ReadOutcome, Gap> {
        let text = self.source.text_or_gap(tree, "queues of the CPUs", "there is no /proc/net")?;
        let online = if names_cpus(&text) {
            Vec::new()
        } else {
            self.online.text(tree).map(|text| list(&text)).unwrap_or_default()
        };
        parse(&text, &online, into);
        Ok(ReadOutcome::Complete)
    }
}

/// Puts the rows into `into`; `online` are the CPUs of rows that do not name theirs, and
/// empty if they are those from 0 on.
pub(super) fn parse(text: &str, online: &[u32], into: &mut Reading) {
    for (row, line) in (0_u32..).zip(text.lines()) {
        let numbers = numbers(line);
        let by_order = || usize::try_from(row).ok().and_then(|row| online.get(row)).copied();
        let cpu = numbers[CPU].or_else(by_order).unwrap_or(row);
        for (column, each) in COLUMNS {
            if let Some(count) = numbers[column] {
                into.counter(each.on(cpu), count.into());
            }
        }
    }
}

fn names_cpus(text: &str) -> bool {
    text.lines().next().is_some_and(|line| numbers(line)[CPU].is_some())
}

fn numbers(line: &str) -> [Option<u32>; CPU + 1] {
    let mut words = line.split_ascii_whitespace();
    std::array::from_fn(|_| u32::from_str_radix(words.next()?, 16).ok())
}

/// Numbers as the kernel lists them: `0,2-3`. No host has more than 65,536 CPUs.
fn list(text: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        Some(from.parse::<u16>().ok()?..=to.parse::<u16>().ok()?)
    };
    text.trim().split(',').filter_map(range).flatten().map(u32::from).take(1 << 16).collect()
}

const COLUMNS: [(usize, EachCounter<'static>); 5] = [
    (0, counter::SOFTNET_PROCESSED),
    (1, counter::SOFTNET_DROPPED),
    (2, counter::SOFTNET_TIME_SQUEEZE),
    (9, counter::SOFTNET_RECEIVED_RPS),
    (10, counter::SOFTNET_FLOW_LIMIT_COUNT),
];
/// The column with the number of the CPU.
const CPU: usize = 12;

#[cfg(test)]
mod tests {
    use super::super::tests::counted;
    use super::*;

    #[test]
    fn a_row_names_its_cpu() {
        let text = "3fb03d8f 00004eb2 00000063 00000000 00000000 00000000 00000000 00000000 \
                    00000000 00000000 00000000 00000000 00000000 00000000 00000000\n\
                    00000010 00000001 00000002 00000000 00000000 00000000 00000000 00000000 \
                    00000000 00000003 00000004 00000000 00000005 00000000 00000000\n";
        let counted = counted(|into| parse(text, &[], into));
        assert_eq!(counted.len(), 10);
        assert_eq!(counted["softnet.0.processed"], 0x3fb0_3d8f);
        assert_eq!(counted["softnet.0.dropped"], 0x4eb2);
        assert_eq!(counted["softnet.5.received_rps"], 3);
        assert_eq!(counted["softnet.5.flow_limit_count"], 4);
    }

    #[test]
    fn rows_of_an_older_kernel_are_of_the_cpus_that_are_online() {
        // Linux 4.9 with CPU 1 offline.
        let row = "0000beef 00000000 0000000a 00000000 00000000 00000000 00000000 00000000 \
                   00000000 00000000 00000000\n";
        let counted = counted(|into| parse(&row.repeat(2), &list("0,2-3\n"), into));
        assert_eq!(counted["softnet.2.time_squeeze"], 10);
        assert!(!counted.contains_key("softnet.1.processed"));
    }

    #[test]
    fn a_kernel_without_rps_has_no_count_of_it() {
        // Linux 2.6.32.
        let row = "0000beef 00000000 0000000a 00000000 00000000 00000000 00000000 00000000 \
                   00000000\n";
        let counted = counted(|into| parse(row, &[], into));
        assert_eq!(
            counted.into_keys().collect::<Vec<_>>(),
            ["softnet.0.dropped", "softnet.0.processed", "softnet.0.time_squeeze"]
        );
    }

    #[test]
    fn lists_of_cpus_are_bounded() {
        assert_eq!(list("0-1,4"), [0, 1, 4]);
        assert_eq!(list(&"0-65535,".repeat(100)).len(), 1 << 16);
        assert_eq!(list("junk"), [0_u32; 0]);
    }
}
