//! What CPUs did while a test ran, and what they are.

use measurement::host::{Cpu, EachCounter, Inventory, counter};
use std::time::Duration;

use measurement::Order;

use crate::evidence::HostView;

/// What one CPU did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) cpu: u32,
    all: u64,
    idle: u64,
    interrupted: u64,
    programs: u64,
}

impl Load {
    /// Of each CPU of which times are known; empty without a test.
    pub(crate) fn each(host: &HostView<'_>) -> Vec<Self> {
        let idle = host.each(counter::CPU_IDLE).into_iter();
        let numbers = idle.chain(host.each(counter::CPU_SOFTIRQ));
        let mut numbers: Vec<u32> = numbers.filter_map(|(cpu, _)| cpu.parse().ok()).collect();
        numbers.order();
        numbers.dedup();
        numbers.into_iter().map(|cpu| Self::of_cpu(host, cpu)).collect()
    }

    fn of_cpu(host: &HostView<'_>, cpu: u32) -> Self {
        let sum = |states: &[EachCounter<'_>]| {
            let grown = |state: &EachCounter<'_>| host.growth(state.on(cpu)).unwrap_or(0);
            states.iter().map(grown).fold(0, u64::saturating_add)
        };
        let (idle, interrupted) = (
            sum(&[counter::CPU_IDLE, counter::CPU_IOWAIT]),
            sum(&[counter::CPU_IRQ, counter::CPU_SOFTIRQ]),
        );
        let programs = sum(&[counter::CPU_USER, counter::CPU_NICE, counter::CPU_SYSTEM]);
        let all = [idle, interrupted, programs, sum(&[counter::CPU_STEAL])];
        let all = all.into_iter().fold(0, u64::saturating_add);
        Self { cpu, all, idle, interrupted, programs }
    }

    /// Share of the time in interrupts and what follows them (irq, softirq), 0 to 1.
    pub(crate) fn interrupted(&self) -> f64 {
        crate::words::share(self.interrupted, self.all)
    }

    /// The same of the time in which it did anything.
    pub(crate) fn interrupted_of_active(&self) -> f64 {
        crate::words::share(self.interrupted, self.interrupted.saturating_add(self.programs))
    }

    /// All time that is accounted for.
    pub(crate) const fn all(&self) -> Duration {
        Duration::from_nanos(self.all)
    }

    /// Time in which it did anything for this host.
    pub(crate) const fn active(&self) -> Duration {
        Duration::from_nanos(self.interrupted.saturating_add(self.programs))
    }

    /// Share of the time in programs and their system calls.
    pub(crate) fn programs(&self) -> f64 {
        crate::words::share(self.programs, self.all)
    }

    /// Share of the time in which it did anything.
    pub(crate) fn busy(&self) -> f64 {
        1.0 - crate::words::share(self.idle, self.all.max(1))
    }

    /// It has hardly time for anything but interrupts.
    pub(crate) fn is_taken_by_interrupts(&self) -> bool {
        self.all > 0 && self.interrupted() >= TAKEN
    }
}

/// The CPU that has hardly time for anything but interrupts, the most so first.
pub(crate) fn taken_by_interrupts(host: &HostView<'_>) -> Option<Load> {
    let all = Load::each(host).into_iter().filter(Load::is_taken_by_interrupts);
    all.max_by_key(|load| load.interrupted)
}

/// CPUs that run.
pub(crate) fn online(inventory: &Inventory) -> impl Iterator<Item = &Cpu> {
    inventory.cpus.iter().filter(|cpu| !cpu.offline)
}

/// How fast each core that runs is against others of its host: its capacity, else its highest
/// frequency. Empty: not every core tells it.
fn speeds(inventory: &Inventory) -> Vec<(u32, u64)> {
    let told = |speed: fn(&Cpu) -> Option<u64>| {
        online(inventory).map(|cpu| Some((cpu.number, speed(cpu)?))).collect::<Option<Vec<_>>>()
    };
    let capacities = told(|cpu| cpu.capacity.map(u64::from));
    capacities.or_else(|| told(|cpu| cpu.max_khz)).unwrap_or_default()
}

/// Speed of the fastest core, in the unit of what cores tell.
pub(crate) fn highest_speed(inventory: &Inventory) -> Option<u64> {
    speeds(inventory).iter().map(|(_, speed)| *speed).max()
}

/// Cores that are as fast as the fastest, give or take what vendors call favoured cores.
pub(crate) fn fastest(inventory: &Inventory) -> Vec<u32> {
    let speeds = speeds(inventory);
    let most = speeds.iter().map(|(_, speed)| *speed).max().unwrap_or(0);
    let is_fast = |speed: u64| speed.saturating_mul(5) >= most.saturating_mul(4);
    speeds.into_iter().filter(|(_, speed)| is_fast(*speed)).map(|(cpu, _)| cpu).collect()
}

/// CPUs in a sentence: `CPU 4`, `CPUs 0, 1`.
pub(crate) fn named(cpus: &[u32]) -> String {
    let numbers: Vec<_> = cpus.iter().map(ToString::to_string).collect();
    let plural = if cpus.len() == 1 { "" } else { "s" };
    format!("CPU{plural} {}", numbers.join(", "))
}

/// Share of a CPU's time from which on it is full of interrupts: the rest goes to who is
/// served between them. To be calibrated.
const TAKEN: f64 = 0.85;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_that_differ_little_are_all_fast() {
        let cpu = |number, khz| Cpu { number, max_khz: Some(khz), ..Cpu::default() };
        let cpus = vec![cpu(0, 5_000_000), cpu(1, 5_200_000), cpu(2, 3_600_000)];
        let mut inventory = Inventory { cpus, ..Inventory::default() };
        assert_eq!(fastest(&inventory), [0, 1]);
        inventory.cpus[0].max_khz = None;
        assert_eq!(fastest(&inventory), [0_u32; 0], "who does not tell may be any");
    }
}
