//! Placement of the interrupts of a host: their CPUs, and the fast cores to which those on slow
//! ones belong.

use measurement::host::Irq;

use super::device::Device;
use super::{Case, cpu};
use crate::evidence::HostView;

/// An interrupt on a slow core.
pub(crate) struct Misplaced<'a> {
    pub(crate) irq: &'a Irq,
    /// Name of its interface.
    pub(crate) interface: &'a str,
    /// The slow core.
    pub(crate) cpu: u32,
    /// The fast core to which it belongs.
    pub(crate) to: u32,
}

impl<'a> Case<'a> {
    /// Interrupts of a host that arrive at slow cores, each with a fast one: those first that have
    /// no interrupt yet, and in turn.
    pub(crate) fn misplaced(&self, host: &HostView<'_>) -> Vec<Misplaced<'a>> {
        let fast = cpu::fastest(&host.evidence.inventory);
        let (slow, taken) = self.placed(host, &fast);
        let places = free(&fast, &taken).into_iter().cycle();
        let one = |((irq, interface, cpu), to)| Misplaced { irq, interface, cpu, to };
        slow.into_iter().zip(places).map(one).collect()
    }

    /// The fast core to which the interrupt of a device belongs; none: it is not on a slow one.
    pub(crate) fn place_of(&self, device: &Device<'_, '_>) -> Option<u32> {
        let misplaced = self.misplaced(device.host);
        misplaced.iter().find(|one| one.interface == device.interface.name).map(|one| one.to)
    }

    /// Interrupts on slow cores, and fast cores that have one already.
    fn placed(
        &self,
        host: &HostView<'_>,
        fast: &[u32],
    ) -> (Vec<(&'a Irq, &'a str, u32)>, Vec<u32>) {
        let (mut slow, mut taken) = (Vec::<(&Irq, &str, u32)>::new(), Vec::new());
        for device in self.hardware().filter(|device| device.host.role() == host.role()) {
            for irq in device.irqs() {
                let Some(cpu) = self.target(&device, irq) else { continue };
                if fast.contains(&cpu) {
                    taken.push(cpu);
                } else if !fast.is_empty() && slow.iter().all(|one| one.0.number != irq.number) {
                    slow.push((irq, &device.interface.name, cpu));
                }
            }
        }
        (slow, taken)
    }

    /// The CPU that an interrupt goes to, if it comes at all.
    fn target(&self, device: &Device<'_, '_>, irq: &Irq) -> Option<u32> {
        let counted = self.arrivals_of(device, irq).only_cpu()?;
        match irq.effective.as_slice() {
            // It was moved since.
            [only] if self.test.is_none() => Some(*only),
            _ => Some(counted),
        }
    }
}

/// Fast cores, those first that have no interrupt yet.
fn free(fast: &[u32], taken: &[u32]) -> Vec<u32> {
    let (mut free, busy): (Vec<u32>, Vec<u32>) = fast.iter().partition(|cpu| !taken.contains(cpu));
    free.extend(busy);
    free
}
