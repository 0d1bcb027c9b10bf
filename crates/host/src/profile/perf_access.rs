//! Access to perf_event_open(2) and `/proc/kallsyms`, acquired while the process has the
//! privileges that it drops later.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom};
use std::sync::{Mutex, PoisonError};

use super::names::{Names, Table};
use linux::perf::{PerfError, SampleFrequency, Sampler, Scope};

/// Access to the performance events of the CPUs (perf_event_open(2)) and to the symbols of the
/// kernel. The sampler of all CPUs serves one test at a time; a concurrent test opens its own
/// sampler, as far as that is permitted then.
#[derive(Debug)]
pub struct PerfAccess {
    hertz: SampleFrequency,
    sampler: Mutex<Option<Sampler>>,
    symbols: Mutex<Symbols>,
}

impl PerfAccess {
    /// Opens what this process may access now; `hertz` is the sampling frequency.
    ///
    /// It does not fail: where the kernel refuses (`kernel.perf_event_paranoid`,
    /// `kernel.kptr_restrict`) each test reports a gap.
    pub fn new(hertz: SampleFrequency) -> Self {
        let sampler = Mutex::new(Sampler::new(hertz, &[]).ok());
        Self { hertz, sampler, symbols: Mutex::new(Symbols::open()) }
    }

    /// The sampler of all CPUs if it is free, else a new one, at least of `threads` of this
    /// process.
    pub(super) fn take_sampler(&self, threads: &[i32]) -> Result<Sampler, PerfError> {
        let kept = self.sampler.lock().unwrap_or_else(PoisonError::into_inner).take();
        kept.map_or_else(|| Sampler::new(self.hertz, threads), Ok)
    }

    /// Keeps a sampler of all CPUs for the next test.
    pub(super) fn return_sampler(&self, mut sampler: Sampler) {
        if sampler.scope() == Scope::Cpus && sampler.stop().is_ok() {
            sampler.drain(|_| {});
            *self.sampler.lock().unwrap_or_else(PoisonError::into_inner) = Some(sampler);
        }
    }

    /// Names of the functions in which the addresses are, which are sorted; none: the kernel hides
    /// them.
    pub(super) fn resolve(&self, addresses: &[u64]) -> Option<Names> {
        let mut symbols = self.symbols.lock().unwrap_or_else(PoisonError::into_inner);
        symbols.resolve(addresses)
    }
}

/// `/proc/kallsyms`, and what was read of it.
#[derive(Debug)]
struct Symbols {
    /// It shows addresses if the process had the permission at open(2); none: it cannot be read.
    list: Option<File>,
    table: Table,
    /// `/proc/modules` then: a module that goes leaves its place to another.
    modules: Vec<u8>,
}

impl Symbols {
    fn open() -> Self {
        let list = File::open("/proc/kallsyms").ok();
        Self { list, table: Table::default(), modules: Vec::new() }
    }

    fn resolve(&mut self, addresses: &[u64]) -> Option<Names> {
        let modules = fs::read("/proc/modules").unwrap_or_default();
        if modules != self.modules || self.table.is_full() {
            (self.table, self.modules) = (Table::default(), modules);
        }
        let lacking = self.table.lacks(addresses);
        if !lacking.is_empty() {
            let list = self.list.as_mut()?;
            list.seek(SeekFrom::Start(0)).ok()?;
            self.table.read(&lacking, list).then_some(())?;
        }
        Some(Names::resolve(addresses, &self.table))
    }
}
