//! Counts samples by where they were taken, in bounded memory however long a test is.

use std::collections::HashMap;

use linux::perf::{Mode, Sample};

use super::tasks::{self, Owner};

/// What was counted.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) spots: HashMap<Spot, u64>,
    /// Addresses from which a spot was called, the innermost first.
    pub(super) chains: Vec<Box<[u64]>>,
    numbers: HashMap<Box<[u64]>, u32>,
    owners: HashMap<i32, Owner>,
    /// All samples, those for which there was no room too.
    pub(super) samples: u64,
}

/// Where a CPU was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Spot {
    pub(super) cpu: u32,
    pub(super) process: i32,
    pub(super) mode: Mode,
    pub(super) place: u64,
    /// Index of its chain; none: it has none, or there was no room for it.
    pub(super) chain: Option<u32>,
}

impl Tally {
    pub(super) fn count(&mut self, sample: &Sample<'_>) {
        self.samples += 1;
        self.meet(sample.process);
        let spot = Spot {
            cpu: sample.cpu,
            process: sample.process,
            mode: sample.mode,
            place: sample.address,
            chain: if self.spots.len() < SPOTS_WITH_CHAINS { self.chain(sample) } else { None },
        };
        if self.spots.len() < MOST_SPOTS || self.spots.contains_key(&spot) {
            *self.spots.entry(spot).or_default() += 1;
        }
    }

    /// Who a process is has to be asked while there is one.
    fn meet(&mut self, process: i32) {
        if self.owners.len() < MOST_PROCESSES {
            self.owners.entry(process).or_insert_with(|| tasks::owner(process));
        }
    }

    pub(super) fn owner(&self, process: i32) -> &Owner {
        self.owners.get(&process).unwrap_or(&tasks::STRANGER)
    }

    fn chain(&mut self, sample: &Sample<'_>) -> Option<u32> {
        let callers: Box<[u64]> = sample.chain().skip(1).collect();
        if callers.is_empty() {
            return None;
        }
        if let Some(number) = self.numbers.get(&callers) {
            return Some(*number);
        }
        let number = u32::try_from(self.chains.len()).ok().filter(|_| self.has_room())?;
        self.chains.push(callers.clone());
        self.numbers.insert(callers, number);
        Some(number)
    }

    fn has_room(&self) -> bool {
        self.chains.len() < MOST_CHAINS
    }

    pub(super) fn callers(&self, spot: &Spot) -> &[u64] {
        let chain = spot.chain.and_then(|number| self.chains.get(number as usize));
        chain.map_or(&[], |callers| callers)
    }

    /// All addresses for which names are wanted, in order.
    pub(super) fn kernel_addresses(&self) -> Vec<u64> {
        let spots = self.spots.keys().filter(|spot| spot.mode == Mode::Kernel);
        let callers = self.chains.iter().flatten().map(|back| call(*back));
        let mut addresses: Vec<_> = spots.map(|spot| spot.place).chain(callers).collect();
        addresses.sort_unstable();
        addresses.dedup();
        addresses
    }
}

/// The call that returns to this address: it may be the last instruction of its function.
pub(super) const fn call(back: u64) -> u64 {
    back.saturating_sub(1)
}

/// A spot takes some 50 bytes.
const MOST_SPOTS: usize = 40_000;
const SPOTS_WITH_CHAINS: usize = 30_000;
/// A chain takes up to 1 KiB.
const MOST_CHAINS: usize = 8_000;
const MOST_PROCESSES: usize = 4_096;
