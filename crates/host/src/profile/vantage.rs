//! What lets a process look at its CPUs, taken while it may: later it has fewer powers.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::sync::{Mutex, PoisonError};

use linux::perf::{PerfError, SampleFrequency, Sampler, Scope};

/// A place from which CPUs can be watched. One test at a time has it.
#[derive(Debug)]
pub struct Vantage {
    hertz: SampleFrequency,
    sampler: Mutex<Option<Sampler>>,
    /// `/proc/kallsyms`, which shows addresses to those who could see them when it was opened.
    symbols: Mutex<Option<File>>,
}

impl Vantage {
    /// Takes what this process may have now.
    pub fn new(hertz: SampleFrequency) -> Self {
        let sampler = Mutex::new(Sampler::new(hertz, &[]).ok());
        Self { hertz, sampler, symbols: Mutex::new(File::open("/proc/kallsyms").ok()) }
    }

    /// What watches the CPUs, or at least `threads` of this process.
    pub(super) fn lend(&self, threads: &[i32]) -> Result<Sampler, PerfError> {
        let kept = self.sampler.lock().unwrap_or_else(PoisonError::into_inner).take();
        kept.map_or_else(|| Sampler::new(self.hertz, threads), Ok)
    }

    /// Keeps it for the next test.
    pub(super) fn take_back(&self, mut sampler: Sampler) {
        if sampler.scope() == Scope::Cpus && sampler.stop().is_ok() {
            sampler.drain(|_| {});
            *self.sampler.lock().unwrap_or_else(PoisonError::into_inner) = Some(sampler);
        }
    }

    /// Does something with the list of the kernel's functions, from its begin.
    pub(super) fn with_symbols<T>(&self, read: impl FnOnce(Option<&mut File>) -> T) -> T {
        let mut file = self.symbols.lock().unwrap_or_else(PoisonError::into_inner);
        if file.as_mut().is_some_and(|file| file.seek(SeekFrom::Start(0)).is_err()) {
            *file = None;
        }
        read(file.as_mut())
    }
}
