//! Which CPUs the interrupts of an interface come to.

use std::collections::BTreeMap;

use measurement::IntoMap;
use measurement::host::{Irq, counter};

use super::Case;
use super::device::Device;

/// How often interrupts came to each CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Arrivals(BTreeMap<u32, u64>);

impl Case<'_> {
    /// How often the interrupts of a device came to each CPU: during the test; without one,
    /// since the start of the host.
    pub(crate) fn arrivals(&self, device: &Device<'_, '_>) -> Arrivals {
        let mut arrivals = Arrivals::default();
        for irq in device.irqs() {
            arrivals.add(&self.arrivals_of(device, irq));
        }
        arrivals
    }

    /// The same of one interrupt.
    pub(crate) fn arrivals_of(&self, device: &Device<'_, '_>, irq: &Irq) -> Arrivals {
        if self.test.is_none() {
            return Arrivals(irq.counts.clone());
        }
        let own = device.host.evidence.series.each(counter::interrupts(irq.number));
        let own = own.filter_map(|(cpu, counter)| Some((cpu.parse().ok()?, counter)));
        let grown = own.map(|(cpu, counter)| (cpu, device.host.growth(counter).unwrap_or(0)));
        Arrivals(grown.into_map())
    }
}

impl Arrivals {
    fn add(&mut self, other: &Self) {
        for (cpu, count) in &other.0 {
            let sum = self.0.entry(*cpu).or_default();
            *sum = sum.saturating_add(*count);
        }
    }

    pub(crate) fn total(&self) -> u64 {
        self.0.values().copied().fold(0, u64::saturating_add)
    }

    /// The CPU that got nearly all of them, if they are enough to tell.
    pub(crate) fn only_cpu(&self) -> Option<u32> {
        let (cpu, most) = self.0.iter().max_by_key(|(_, count)| **count)?;
        let is_most = u128::from(*most) * 100 >= u128::from(self.total()) * NEARLY_ALL_PERCENT;
        (is_most && self.total() >= ENOUGH).then_some(*cpu)
    }
}

/// So many percent of interrupts are nearly all. To be calibrated.
const NEARLY_ALL_PERCENT: u128 = 90;
/// With fewer it is chance where they went.
const ENOUGH: u64 = 1_000;
