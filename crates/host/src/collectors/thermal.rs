//! Gauge `thermal.ZONE.millicelsius`: temperatures, from `/sys/class/thermal/thermal_zoneN/temp`
//! (Documentation/driver-api/thermal/sysfs-api.rst). A sensor that sleeps is left out.

use measurement::Gap;
use measurement::host::{Family, counter};

use super::numbers::Numbers;
use super::{Collector, ReadOutcome};
use crate::{Reading, Tree};

pub(super) struct Thermal {
    files: Numbers,
}

impl Default for Thermal {
    fn default() -> Self {
        Self { files: Numbers::new("sys/class/thermal", "thermal_zone", "temp") }
    }
}

impl Collector for Thermal {
    fn family(&self) -> Family {
        Family::THERMAL
    }

    fn read(&mut self, tree: &Tree, into: &mut Reading) -> Result<ReadOutcome, Gap> {
        let absent = "no driver reports it (thermal), as in a virtual machine";
        self.files.each(tree, ("temperatures", absent), |number, value| {
            into.gauge(counter::THERMAL_MILLICELSIUS.on(number), value);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{captured, reading};
    use super::*;

    #[test]
    fn each_zone_has_its_temperature() {
        let folder = captured(&[("sys/class/thermal/thermal_zone3/temp", "41000\n")]);
        let tree = Tree::captured(folder.path());
        let reading = reading(|into| {
            assert_eq!(Thermal::default().read(&tree, into), Ok(ReadOutcome::Complete));
        });
        assert!(reading.gauges().collect::<Vec<_>>() == [("thermal.3.millicelsius", 41_000)]);
    }
}
