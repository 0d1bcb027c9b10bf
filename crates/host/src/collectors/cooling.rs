//! Gauge `cooling.N.state`: state of a cooling device, 0 for no cooling, from
//! `/sys/class/thermal/cooling_deviceN/cur_state`
//! (Documentation/driver-api/thermal/sysfs-api.rst). Some slow the CPUs down.

use measurement::Gap;
use measurement::host::{Family, counter};

use super::numbers::Numbers;
use super::{Collector, ReadOutcome};
use crate::{Reading, Tree};

pub(super) struct Cooling {
    files: Numbers,
}

impl Default for Cooling {
    fn default() -> Self {
        Self { files: Numbers::new("sys/class/thermal", "cooling_device", "cur_state") }
    }
}

impl Collector for Cooling {
    fn family(&self) -> Family {
        Family::COOLING
    }

    fn read(&mut self, tree: &Tree, into: &mut Reading) -> Result<ReadOutcome, Gap> {
        let absent = "no driver cools (thermal), as in a virtual machine";
        self.files.each(tree, ("states of cooling", absent), |number, value| {
            into.gauge(counter::COOLING_STATE.on(number), value);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{captured, reading};
    use super::*;

    #[test]
    fn each_device_has_its_state() {
        let folder = captured(&[("sys/class/thermal/cooling_device3/cur_state", "41000\n")]);
        let tree = Tree::captured(folder.path());
        let reading = reading(|into| {
            assert_eq!(Cooling::default().read(&tree, into), Ok(ReadOutcome::Complete));
        });
        assert!(reading.gauges().collect::<Vec<_>>() == [("cooling.3.state", 41_000)]);
    }
}
