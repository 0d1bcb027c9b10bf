//! Counts samples by where they were taken, in bounded memory however long a test is.

use std::collections::HashMap;

use linux::perf::{Mode, Sample};

use super::processes::{self, Process};

/// Samples by their keys, with call chains and processes.
#[derive(Debug, Default)]
pub(super) struct SampleCounts {
    pub(super) by_key: HashMap<SampleKey, u64>,
    /// Distinct call chains: return addresses, the innermost first.
    pub(super) chains: Vec<Box<[u64]>>,
    numbers: HashMap<Box<[u64]>, u32>,
    processes_seen: HashMap<i32, Process>,
    /// All samples, also those for which there was no room.
    pub(super) samples: u64,
}

/// What is equal in samples that are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct SampleKey {
    pub(super) cpu: u32,
    pub(super) process: i32,
    pub(super) mode: Mode,
    pub(super) address: u64,
    /// Index of its chain; none: it has none, or there was no room for it.
    pub(super) chain: Option<u32>,
}

impl SampleCounts {
    pub(super) fn count(&mut self, sample: &Sample<'_>) {
        self.samples += 1;
        self.note_process(sample.process);
        let key = SampleKey {
            cpu: sample.cpu,
            process: sample.process,
            mode: sample.mode,
            address: sample.address,
            chain: if self.by_key.len() < KEYS_WITH_CHAINS { self.chain(sample) } else { None },
        };
        if self.by_key.len() < MOST_KEYS || self.by_key.contains_key(&key) {
            *self.by_key.entry(key).or_default() += 1;
        }
    }

    /// Identifies a process while it exists.
    fn note_process(&mut self, process: i32) {
        if self.processes_seen.len() < MOST_PROCESSES {
            self.processes_seen.entry(process).or_insert_with(|| processes::identify(process));
        }
    }

    pub(super) fn process(&self, process: i32) -> &Process {
        self.processes_seen.get(&process).unwrap_or(&processes::UNKNOWN)
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

    pub(super) fn callers(&self, key: &SampleKey) -> &[u64] {
        let chain = key.chain.and_then(|number| self.chains.get(number as usize));
        chain.map_or(&[], |callers| callers)
    }

    /// All kernel addresses to resolve, sorted and distinct.
    pub(super) fn kernel_addresses(&self) -> Vec<u64> {
        let by_key = self.by_key.keys().filter(|key| key.mode == Mode::Kernel);
        let callers = self.chains.iter().flatten().map(|back| call(*back));
        let mut addresses: Vec<_> = by_key.map(|key| key.address).chain(callers).collect();
        addresses.sort_unstable();
        addresses.dedup();
        addresses
    }
}

/// The call that returns to this address: it may be the last instruction of its function.
pub(super) const fn call(back: u64) -> u64 {
    back.saturating_sub(1)
}

/// A key takes some 50 bytes.
const MOST_KEYS: usize = 40_000;
const KEYS_WITH_CHAINS: usize = 30_000;
/// A chain takes up to 1 KiB.
const MOST_CHAINS: usize = 8_000;
const MOST_PROCESSES: usize = 4_096;
