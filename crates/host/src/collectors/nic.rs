//! `nic.IF.NAME`: what the drivers of the test's interfaces count by their own words, e.g.
//! `nic.eth0.rx_no_buffer_count`, as `ethtool -S` shows them. Two drivers seldom use the
//! same words.
//!
//! Only the kernel reports them (ethtool), for the namespace of the thread that reads first.

use std::io;

use linux::driver_statistics::DriverStatistics;
use measurement::Gap;
use measurement::host::{Family, counter};

use super::{Collector, ReadOutcome};
use crate::source::gap;
use crate::{Reading, Tree};

#[derive(Default)]
pub(super) struct Nic {
    interfaces: Vec<Interface>,
}

struct Interface {
    name: String,
    statistics: Option<DriverStatistics>,
}

impl Nic {
    pub(super) fn for_interfaces(interfaces: &[String]) -> Self {
        let closed = |name: &String| Interface { name: name.clone(), statistics: None };
        Self { interfaces: interfaces.iter().map(closed).collect() }
    }
}

impl Collector for Nic {
    fn family(&self) -> Family {
        Family::NIC
    }

    fn read(&mut self, tree: &Tree, into: &mut Reading) -> Result<ReadOutcome, Gap> {
        let mut outcome = ReadOutcome::Nothing;
        for interface in &mut self.interfaces {
            let what = format!("what the driver of {} counts", interface.name);
            if !tree.is_live() {
                into.gap(Gap { what, why: "no file has its counters".to_owned() });
                continue;
            }
            match interface.read(into) {
                Ok(()) => outcome = ReadOutcome::Complete,
                Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                    into.gap(Gap { what, why: "it counts nothing of its own".to_owned() });
                }
                Err(error) => into.gap(gap(&what, &error, "there is no such interface")),
            }
        }
        Ok(outcome)
    }
}

impl Interface {
    fn read(&mut self, into: &mut Reading) -> io::Result<()> {
        match self.record(into) {
            // Its queues were changed, and with them what it counts.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                self.statistics = None;
                self.record(into)
            }
            outcome => outcome,
        }
    }

    fn record(&mut self, into: &mut Reading) -> io::Result<()> {
        let statistics = match &mut self.statistics {
            Some(statistics) => statistics,
            none => none.insert(DriverStatistics::open(&self.name)?),
        };
        let interface = &self.name;
        let values = statistics.read()?.to_vec();
        for (name, value) in statistics.names().iter().zip(values) {
            into.counter(counter::driver(interface).on(name), value);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::reading;
    use super::*;

    #[test]
    fn an_interface_whose_driver_does_not_count_is_a_gap() {
        let mut nic = Nic::for_interfaces(&["lo".to_owned()]);
        let reading = reading(|into| {
            assert_eq!(nic.read(&Tree::live(), into), Ok(ReadOutcome::Nothing));
        });
        let [gap] = reading.gaps() else { panic!("{reading:?}") };
        assert_eq!(gap.what, "what the driver of lo counts");
        assert_eq!(gap.why, "it counts nothing of its own");
    }
}
