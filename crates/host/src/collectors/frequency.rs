//! Gauge `frequency.CPU.khz`: how fast each CPU runs, from
//! `/sys/devices/system/cpu/cpuN/cpufreq/scaling_cur_freq`
//! (Documentation/admin-guide/pm/cpufreq.rst).

use measurement::Gap;
use measurement::host::{Family, counter};

use super::numbers::Numbers;
use super::{Collector, ReadOutcome};
use crate::{Reading, Tree};

pub(super) struct Frequency {
    files: Numbers,
}

impl Default for Frequency {
    fn default() -> Self {
        Self { files: Numbers::new("sys/devices/system/cpu", "cpu", "cpufreq/scaling_cur_freq") }
    }
}

impl Collector for Frequency {
    fn family(&self) -> Family {
        Family::FREQUENCY
    }

    fn read(&mut self, tree: &Tree, into: &mut Reading) -> Result<ReadOutcome, Gap> {
        let absent =
            "no driver reports it (cpufreq): as in a virtual machine, or where it is fixed";
        self.files.each(tree, ("frequencies of the CPUs", absent), |cpu, khz| {
            into.gauge(counter::FREQUENCY_KHZ.on(cpu), khz);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{captured, reading};
    use super::*;

    #[test]
    fn each_cpu_that_reports_has_its_frequency() {
        let folder = captured(&[
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "1416000\n"),
            ("sys/devices/system/cpu/cpu10/cpufreq/scaling_cur_freq", "1800000\n"),
            ("sys/devices/system/cpu/cpu2/online", "0\n"),
            ("sys/devices/system/cpu/cpufreq/boost", "0\n"),
        ]);
        let tree = Tree::captured(folder.path());
        let reading = reading(|into| {
            assert_eq!(Frequency::default().read(&tree, into), Ok(ReadOutcome::Complete));
        });
        let gauges: Vec<_> = reading.gauges().collect();
        assert_eq!(gauges, [("frequency.0.khz", 1_416_000), ("frequency.10.khz", 1_800_000)]);
    }

    #[test]
    fn a_host_that_does_not_report_is_a_gap() {
        let folder = captured(&[]);
        let tree = Tree::captured(folder.path());
        reading(|into| {
            let gap = Frequency::default().read(&tree, into).expect_err("nothing there");
            assert_eq!(gap.what, "frequencies of the CPUs");
        });
    }
}
