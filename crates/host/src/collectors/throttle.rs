//! `throttle.CPU.core`: how often heat slowed the core of each CPU down, from
//! `/sys/devices/system/cpu/cpuN/thermal_throttle/core_throttle_count`
//! (arch/x86, since Linux 2.6.31).

use measurement::Gap;
use measurement::host::{Family, counter};

use super::numbers::Numbers;
use super::{Collector, ReadOutcome};
use crate::{Reading, Tree};

pub(super) struct Throttle {
    files: Numbers,
}

impl Default for Throttle {
    fn default() -> Self {
        Self {
            files: Numbers::new(
                "sys/devices/system/cpu",
                "cpu",
                "thermal_throttle/core_throttle_count",
            ),
        }
    }
}

impl Collector for Throttle {
    fn family(&self) -> Family {
        Family::THROTTLE
    }

    fn read(&mut self, tree: &Tree, into: &mut Reading) -> Result<ReadOutcome, Gap> {
        let absent = "only x86 processors report it, and those of virtual machines do not";
        self.files.each(tree, ("throttling of the CPUs", absent), |number, value| {
            let count = u64::try_from(value).unwrap_or_default();
            into.counter(counter::THROTTLE_CORE.on(number), count);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{captured, reading};
    use super::*;

    #[test]
    fn each_cpu_has_its_count() {
        let folder = captured(&[(
            "sys/devices/system/cpu/cpu3/thermal_throttle/core_throttle_count",
            "41000\n",
        )]);
        let tree = Tree::captured(folder.path());
        let reading = reading(|into| {
            assert_eq!(Throttle::default().read(&tree, into), Ok(ReadOutcome::Complete));
        });
        assert!(reading.counters().collect::<Vec<_>>() == [("throttle.3.core", 41_000)]);
    }
}
